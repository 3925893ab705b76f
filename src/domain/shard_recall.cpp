// Runs that were taken and never started: they leave no trace.
#include <algorithm>

#include "base/assert.h"
#include "domain/shard.h"
#include "domain/throttle.h"

namespace ordo::domain {

void Shard::recall(RunNo no, Time now) {
  auto& active = runs_.at(no);
  ORDO_ASSERT(!active.marking && !active.lent);
  if (active.risk != Risk::normal) {  // its marks are durable
    ended(no, std::vector<JobEnd>(active.jobs.size(), JobEnd{Outcome::not_started("recalled"), 0}), now);
    return;
  }
  const auto run = runs_.close(no);
  for (Job* job : run.jobs) {
    if (run.response == 0 || (job->extra && job->extra->cancel_seq != 0)) {
      recall(*job, run, now);
    } else {
      wait_on(*job);
    }
  }
}

void Shard::recall(Job& job, const ActiveRun& run, Time now) {
  if (job.extra && job.extra->cancel_seq != 0) {
    finish(job, {.as = JobStatus::cancelled, .at = now});
    return;
  }
  return_slots(job, run.charged);
  free_lock(job);
  // That it has started may be written already: nobody takes its key before that is taken back.
  const bool is_written = job.held != job.was_held && !job.extra->dirty;
  if (job.held != job.was_held) changes_.write_state(job);
  job.held = job.was_held;
  take_new_time(job);
  join_beside(job);
  leave_bytes(job, now);
  table_.deactivate(job);
  if (is_written) {
    changes_.settle(job);
    return;
  }
  job.place = Place::nowhere;
  if (!job.held) order_.pass_key(job, now);
  place(job, now);
}

// It was not started: what was pushed meanwhile moves it as if it had never been taken.
void Shard::take_new_time(Job& job) {
  const Job* beside = table_.find_queued(job.kind, job.id(), job.key());
  if (beside == nullptr || !beside->extra || !beside->extra->has_new_time) return;
  job.set_time(beside->run_at);
  move_expiry(job, beside->run_at);
}

bool Shard::is_overtaken(RunNo no, Time now, const Admission& admission) {
  if (runs_.at(no).response != 0) return false;
  const Job* best = order_.best(now, admission);
  // What a throttler will say nobody knows: who is refused would take the other's place again and again.
  if (best == nullptr || throttle_of(*best) != nullptr) return false;
  return std::ranges::any_of(runs_.at(no).jobs, [&](const Job* job) {
    return best->priority < job->priority && before_(*best, *job);
  });
}

}  // namespace ordo::domain
