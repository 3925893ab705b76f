// What controls in the log do to a job: cancel it, or make it due.
#include <algorithm>

#include "domain/shard.h"

namespace ordo::domain {

void Shard::apply_control(const LoggedEntry& logged, Time now) {
  bool waits = false;
  for (Job* job : targets_of(logged.entry)) {
    const bool active = job->place == Place::running || job->place == Place::awaiting;
    if (logged.entry.type == EntryType::run_now) {
      if (!active) run_now(*job, logged, now);
    } else if (!active) {
      cancel_queued(*job, now);
    } else if (job->place == Place::awaiting) {
      cancel_awaiting(*job);
    } else if (job->more().cancel_seq == 0) {
      cancel_running(*job, logged.seq);
      waits = true;
    }
  }
  if (!waits) changes_.erase(logged.seq);
}

// Without a key the control is meant for every key.
std::vector<Job*> Shard::targets_of(const Entry& control) {
  const auto kind = kinds_.find(control.kind);
  if (!kind) return {};
  if (!control.key.empty()) {
    auto named = table_.find_all(*kind, control.id, control.key);
    // A push takes the place of the job that has its unique key; one of the same name may run beside it.
    std::erase_if(named, [&](const Job* job) {
      if (control.payload.empty()) return false;
      const auto has_key = [&](const UniqueHold& hold) { return hold.token == control.payload; };
      return !job->extra || std::ranges::none_of(job->extra->options.unique, has_key);
    });
    return named;
  }
  auto targets = table_.find_all(*kind, control.id);
  std::ranges::sort(targets, {}, &Job::arrival);
  return targets;
}

// It goes at once: were the next delta lost, the control would be read again.
void Shard::cancel_queued(Job& job, Time now) {
  leave(job);
  order_.pass_key(job, now);
  for (const auto& piece : job.payloads.pieces()) changes_.erase(piece.seq);
  if (job.extra && job.extra->state_seq != 0) changes_.erase_state(job.extra->state_seq);
  let_go(job);
  forget(job);
}

// It is asked to stop, and the control stays until it has ended.
void Shard::cancel_running(Job& job, Seq control) {
  job.more().cancel_seq = control;
  ++cancels_[control];
  const auto no = runs_.run_of(job);
  if (!no) return;
  if (auto& lent = runs_.at(*no).lent) {
    lent->stop = true;
    changes_.note_lent();
  } else {
    stops_.push_back(*no);
  }
}

void Shard::run_now(Job& job, const LoggedEntry& logged, Time now) {
  const bool settling = job.place == Place::settling;
  if (!settling) {
    leave(job);
    if (!job.held) order_.pass_key(job, now);
  }
  auto& extra = job.more();
  extra.through = std::max(extra.through, logged.seq);
  // One that is due keeps its place, unless it is told another.
  const Time asked = logged.entry.run_at.value_or(logged.at);
  if (asked < job.run_at || logged.entry.options.replaces_time) job.set_time(asked);
  changes_.write_state(job);
  if (!settling) place(job, now);
}

}  // namespace ordo::domain
