#include "simulation/penalty_checker.h"

#include <algorithm>
#include <set>

#include "domain/gates.h"
#include "domain/rate_record.h"

namespace ordo::simulation {
namespace {

// An engine goes by the time at which its step began, and may be stopped within it.
constexpr Duration kStep = std::chrono::seconds{10};

}  // namespace

void PenaltyChecker::note(const std::string& value, const store::Delta& delta, Duration until) {
  auto& closed = closed_[{history_.queue_of(delta.shard), value}];
  if (closed.until <= history_.world().now()) closed.from = history_.world().now();
  closed.until = std::max(closed.until, until);
}

bool PenaltyChecker::ends_in(const SeenJob& job, const store::Delta& delta) const {
  const bool ends_well = job.outcome == Outcome::Kind::done || job.outcome == Outcome::Kind::discarded;
  const bool ends_here =
      std::ranges::any_of(job.seqs, [&](Seq seq) { return std::ranges::binary_search(delta.erase, seq); });
  return ends_well && ends_here && !history_.any_live(job.seqs);
}

void PenaltyChecker::committed(const store::Delta& delta, const ReadAt& read_at) {
  if (!history_.checks_rates) return;
  std::set<std::string> written;
  for (const auto& row : delta.states) {
    if (!domain::is_rate_row(row.seq)) continue;
    const auto record = *domain::decode_rate(row.bytes);
    if (!record.name.starts_with(domain::kPenaltyOf)) continue;
    const auto value = record.name.substr(domain::kPenaltyOf.size());
    written.insert(value);
    if (const auto set_at = read_at(record.at)) note(value, delta, *set_at + (record.until - record.at));
  }
  if (!domain::has_gates(history_.options(delta.shard))) return;
  for (const auto& run : history_.runs) {
    const bool is_told = run->returned && !run->lent && !run->timed_out();
    if (!is_told || run->shard != delta.shard || run->token != delta.lease.token) continue;
    for (const auto& job : run->jobs) {
      if (job.penalty == Duration{0} || !ends_in(job, delta)) continue;
      ++history_.totals.penalties;
      if (written.contains(job.partition)) continue;
      if (run->returned_at + job.penalty <= history_.world().now() + kStep) continue;
      history_.world().fail("penalty: {} of shard {}.{} has ended, and its penalty of {} us is not written",
                            job.name.id, run->shard.queue, run->shard.index, job.penalty.count());
    }
  }
}

void PenaltyChecker::started(const SeenRun& run) const {
  if (!history_.checks_rates || run.responds || run.lent_when_handed || run.was_stopped) return;
  const auto queue = history_.queue_of(run.shard);
  for (const auto& job : run.jobs) {
    const auto found = closed_.find({queue, job.partition});
    if (found == closed_.end()) continue;
    const auto& closed = found->second;
    if (run.chosen <= closed.from || run.handed >= closed.until) continue;
    if (rates_.forgotten(queue) >= closed.from) continue;
    history_.world().fail("penalty: {} starts {} of shard {}.{}, whose value '{}' is closed for {} us more",
                          run.node, job.name.id, run.shard.queue, run.shard.index, job.partition,
                          (closed.until - run.handed).count());
  }
}

}  // namespace ordo::simulation
