#include "simulation/payload_checker.h"

#include <algorithm>

#include "domain/payload_set.h"

namespace ordo::simulation {

void PayloadChecker::started(const SeenRun& run, const runtime::Assignment& assignment) {
  if (run.responds || run.lent || !history_.garbage.empty()) return;
  for (std::size_t i = 0; i < run.jobs.size(); ++i) look_at(run, run.jobs[i], assignment.jobs[i]);
}

void PayloadChecker::add_merged(Seq kept, std::vector<Seq>& all) const {
  all.push_back(kept);
  const auto found = merged_.find(kept);
  if (found == merged_.end()) return;
  for (const auto away : found->second) add_merged(away, all);
}

// Equal ones that went, and those that were read and are on their way out. Nothing: in doubt.
std::optional<PayloadChecker::Rank> PayloadChecker::rank_of(const SeenRun& run, const SeenJob& job,
                                                            Seq kept) const {
  std::vector<Seq> all;
  add_merged(kept, all);
  const auto& own = history_.entries.at(kept);
  for (auto at = history_.entries.upper_bound(kept); at != history_.entries.end() && at->first <= run.through;
       ++at) {
    const auto& [seq, other] = *at;
    const bool is_equal = other.live && domain::is_payload(other.type) && other.shard == own.shard &&
                          other.name == own.name && other.payload == own.payload;
    if (!is_equal) continue;
    if (std::ranges::find(job.seqs, seq) != job.seqs.end() || history_.was_started(seq)) return std::nullopt;
    add_merged(seq, all);
  }
  const bool is_newest = domain::equal_payloads_of(history_.options(run.shard)) == EqualPayloads::newest;
  std::optional<Rank> rank;
  for (const auto seq : all) {
    const auto& entry = history_.entries.at(seq);
    if (entry.origin != seq || (!entry.score && history_.times_go_back)) return std::nullopt;
    const Rank each{entry.score.value_or(domain::score_of(entry.at)), seq};
    if (!rank || (is_newest ? each > *rank : each.first < rank->first)) rank = each;
  }
  if (!is_newest) rank->second = kept;
  return rank;
}

void PayloadChecker::look_at(const SeenRun& run, const SeenJob& job, const BatchJob& delivered) const {
  std::vector<std::pair<Rank, std::string>> payloads;
  for (const auto seq : job.seqs) {
    const auto& entry = history_.entries.at(seq);
    if (entry.is_tick() || history_.is_taken_away(job.name, run.shard, seq, run.through)) return;
    const auto rank = rank_of(run, job, seq);
    if (!rank) return;
    payloads.emplace_back(*rank, entry.payload);
  }
  std::ranges::sort(payloads);
  const auto chosen = domain::delivered(std::span<const std::pair<Rank, std::string>>(payloads),
                                        history_.options(run.shard).payloads);
  ++history_.totals.ranked;
  for (std::size_t i = 0; i < delivered.payloads.size(); ++i) {
    const auto& [rank, bytes] = chosen[i];
    const auto& got = delivered.payloads[i];
    if (got.bytes == bytes && got.score == rank.first) continue;
    history_.world().fail("payload: {} starts {} with '{}' of score {}, and it is '{}' of score {}", run.node,
                          job.name.id, got.bytes, got.score, bytes, rank.first);
    return;
  }
}

}  // namespace ordo::simulation
