// Jobs that are unique at push (rules: uniqueness): when their rows are taken away. One of scope `queued` is
// free before its job starts for the first time, and the log says so: what came while the row named the job
// stands in front of that, and is read before the job starts. The others are free when the job is gone.
#include <algorithm>

#include "domain/shard.h"

namespace ordo::domain {
namespace {

bool keeps_from_starting(const UniqueHold& hold) { return hold.scope == UniqueScope::queued; }

}  // namespace

bool Shard::waits_for_rows(const Job& job) {
  return job.extra && std::ranges::any_of(job.extra->options.unique, keeps_from_starting);
}

// True: the run is not to start. Once all rows of its jobs are free it is recalled, and its jobs are due
// again with whatever has been merged into them meanwhile.
bool Shard::frees_rows(ActiveRun& run) {
  for (const Job* job : run.jobs) {
    if (!waits_for_rows(*job)) continue;
    run.freeing = true;
    for (const auto& hold : job->extra->options.unique) {
      if (keeps_from_starting(hold))
        rows_.start({hold.row, row_of(hold, kinds_[job->kind].name, job->key(), job->id()), true});
    }
  }
  return run.freeing;
}

// It may come twice, and from an owner before this one.
void Shard::apply_freed(const LoggedEntry& logged) {
  const auto& entry = logged.entry;
  changes_.erase(logged.seq);
  const auto kind = kinds_.find(entry.kind);
  if (!kind) return;
  for (Job* job : table_.find_all(*kind, entry.id, entry.key)) {
    if (!job->extra) continue;
    auto& holds = job->extra->options.unique;
    const auto hold = std::ranges::find(holds, entry.payload, &UniqueHold::token);
    if (hold == holds.end()) continue;
    job->extra->options.freed_row = std::move(hold->row);
    holds.erase(hold);
    changes_.write_state(*job);  // its entries say that it has the row
    if (const auto no = runs_.run_of(*job)) look_at_freed(*no);
    return;
  }
}

void Shard::look_at_freed(RunNo no) {
  const auto& run = runs_.at(no);
  const auto waits = [](const Job* job) { return job != nullptr && waits_for_rows(*job); };
  if (run.freeing && std::ranges::none_of(run.jobs, waits)) freed_runs_.push_back(no);
}

void Shard::stop_freeing() {
  runs_.each([&](RunNo no, const ActiveRun& run) {
    if (run.freeing && std::ranges::find(freed_runs_, no) == freed_runs_.end()) freed_runs_.push_back(no);
  });
}

void Shard::release_rows(std::string_view kind, std::string_view key, std::string_view id,
                         const JobOptions& options) {
  for (const auto& hold : options.unique) rows_.end({hold.row, row_of(hold, kind, key, id), false});
}

// The job is over: what it has beside the log goes, too.
void Shard::let_go(Job& job) {
  release_waits(job);
  if (job.extra) release_rows(kinds_[job.kind].name, job.key(), job.id(), job.extra->options);
}

}  // namespace ordo::domain
