#include "simulation/unique_checker.h"

#include <algorithm>

#include "domain/dead_letters.h"

namespace ordo::simulation {

using What = store::RowResult::What;

namespace {

// What responses leave stands beside the rows of unique keys.
bool is_of_responses(const std::string& key) {
  const bool is_letter =
      key.starts_with(domain::kLetterListRow) && key.size() != domain::unique_row_key({}, {}).size();
  return is_letter || domain::is_expiry_row_key(key);
}

}  // namespace

void UniqueChecker::stepped(const std::string& rows, const store::RowStep& step,
                            const store::RowResult& result) {
  if (is_of_responses(step.row.key)) return;
  auto& totals = history_.totals;
  if (result.what == What::conflict && !step.entries.empty() && result.there) ++totals.conflicts;
  if (result.what != What::done) return;
  if (step.row.until == Time::min()) {
    ++totals.rows_freed;
    return;
  }
  ++(step.seen ? totals.exchanged : totals.unique);
  const auto holder = *domain::decode_unique_row(step.row.bytes);
  if (holder.scope == UniqueScope::period) look_at_period(rows, step.row, holder);
  if (holder.scope != UniqueScope::queued_or_running) return;
  const auto hidden = history_.hidden();  // a reshard that was given up leaves its copies there
  for (const auto& [seq, entry] : history_.entries) {
    if (hidden.contains(entry.shard.queue)) continue;
    if (!entry.live || !entry.is_payload() ||
        store::Store::unique_rows(history_.options(entry.shard).name) != rows)
      continue;
    for (const auto& hold : entry.options.unique) {
      if (hold.row != step.row.key || hold.token == holder.token || hold.scope != holder.scope) continue;
      history_.world().fail("unique: {} is pushed with key {} while {} (entry {}) is there", holder.id,
                            hold.row, entry.name.id, seq);
    }
  }
}

// Its span is over, or the clock has come to its end without a leap just before.
void UniqueChecker::look_at_period(const std::string& rows, const store::WaitRow& row,
                                   const domain::UniqueRow& holder) {
  auto& world = history_.world();
  auto& last = periods_[{rows, row.key}];
  if (last.token == holder.token) {  // it was cut
    last.until = row.until;
    return;
  }
  const bool is_over =
      last.token.empty() || world.now() - last.pushed >= last.span || last.until <= world.latest_believed({});
  if (!is_over)
    world.fail("unique: {} is pushed with key {}, {} us behind the last one", holder.id, row.key,
               (world.now() - last.pushed).count());
  last = {holder.token, world.now(), row.until - holder.first, row.until};
}

void UniqueChecker::started(const SeenRun& run) {
  const auto rows = store::Store::unique_rows(history_.options(run.shard).name);
  for (const auto& job : run.jobs) {
    for (const auto seq : job.seqs) {
      const auto entry = history_.entries.find(seq);
      if (entry == history_.entries.end()) continue;
      for (const auto& hold : entry->second.options.unique) {
        if (hold.scope != UniqueScope::queued) continue;
        const auto row = history_.store().wait_row(rows, hold.row);
        if (row && domain::decode_unique_row(*row)->token == hold.token && !is_pushed_again(job, hold))
          history_.world().fail("unique: {} starts while it has key {}", job.name.id, hold.row);
      }
    }
  }
}

// Whoever did not hear how a push went has made it once more: the row is that one's.
bool UniqueChecker::is_pushed_again(const SeenJob& job, const domain::UniqueHold& hold) const {
  return std::ranges::any_of(history_.entries, [&](const auto& each) {
    const auto& [seq, entry] = each;
    const bool is_same = std::ranges::find(entry.options.unique, hold.token, &domain::UniqueHold::token) !=
                         entry.options.unique.end();
    return entry.live && is_same && std::ranges::find(job.seqs, seq) == job.seqs.end();
  });
}

bool UniqueChecker::are_all_free() const {
  const auto list = history_.store().queues();
  return std::ranges::all_of(list.queues, [&](const auto& queue) {
    const auto rows = history_.store().wait_rows(store::Store::unique_rows(queue.name), "", 10'000);
    return std::ranges::all_of(
        rows, [&](const auto& row) { return is_of_responses(row.key) || is_forgotten(row); });
  });
}

// The payload that had the key has ended, and the state that named it since is lost: nobody knows.
bool UniqueChecker::is_forgotten(const store::WaitRow& row) const {
  const auto holder = *domain::decode_unique_row(row.bytes);
  return history_.lost_jobs.contains({holder.kind, holder.key, holder.id}) &&
         !history_.buried_holds.contains(holder.token);
}

void UniqueChecker::ended() const {
  if (!are_all_free()) history_.world().fail("unique: a row is left over");
}

}  // namespace ordo::simulation
