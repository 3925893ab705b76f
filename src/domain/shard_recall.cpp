// Runs that were taken and never started: they leave no trace.
#include <algorithm>

#include "base/assert.h"
#include "domain/shard.h"

namespace ordo::domain {

void Shard::recall(RunNo no, Time now) {
  auto& active = runs_.at(no);
  ORDO_ASSERT(!active.marking && !active.lent);
  if (active.risk != Risk::normal) {  // its marks are durable
    ended(no, std::vector<JobEnd>(active.jobs.size(), JobEnd{Outcome::not_started("recalled"), 0}), now);
    return;
  }
  const auto node = runs_.extract(no);
  for (Job* job : node.mapped().jobs) recall(*job, now);
}

void Shard::recall(Job& job, Time now) {
  if (job.extra && job.extra->cancel_seq != 0) {
    finish(job);
    return;
  }
  // That it has started may be written already: nobody takes its key before that is taken back.
  const bool is_written = job.held != job.was_held && !job.extra->dirty;
  if (job.held != job.was_held) dirty(job);
  job.held = job.was_held;
  join_beside(job);
  leave_bytes(job, now);
  table_.deactivate(job);
  --running_;
  ++queued_;
  if (is_written) {
    settle(job);
    return;
  }
  if (!job.held) release_front(job, now);
  place(job, now);
}

bool Shard::is_overtaken(RunNo no, Time now, const Admission& admission) {
  const Job* best = best_due(now, admission);
  if (best == nullptr) return false;
  return std::ranges::any_of(runs_.at(no).jobs, [&](const Job* job) {
    return best->priority < job->priority && before_(*best, *job);
  });
}

}  // namespace ordo::domain
