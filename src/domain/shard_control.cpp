// What controls in the log do to a job: cancel it, make it due, or kill it.
#include <algorithm>

#include "domain/due.h"
#include "domain/shard.h"

namespace ordo::domain {

namespace {

bool means(JobPhase phase, bool is_active) {
  return phase == JobPhase::any || (phase == JobPhase::running) == is_active;
}

}  // namespace

void Shard::apply_control(const LoggedEntry& logged, Time now) {
  bool waits = false;
  const auto is_active = [](const Job* job) {
    return job->place == Place::running || job->place == Place::awaiting;
  };
  const auto targets = targets_of(logged.entry);
  // While a kill waits for payloads it stands in the log, and the next owner would kill what is active now,
  // too.
  const bool kills = std::ranges::none_of(targets, is_active);
  for (Job* job : targets) {
    const bool active = is_active(job);
    if (!means(logged.entry.phase, active)) continue;
    if (logged.entry.type == EntryType::run_now) {
      if (!active) run_now(*job, logged, now);
    } else if (logged.entry.type == EntryType::kill) {
      if (kills) waits = !kill_queued(*job, logged.seq, now) || waits;
    } else if (!active) {
      cancel_queued(*job, now);
    } else if (job->place == Place::awaiting) {
      cancel_awaiting(*job, now);
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
  keep(job, {.as = JobStatus::cancelled, .at = now});
  for (const auto& piece : job.payloads.pieces()) changes_.erase(piece.seq);
  if (job.extra && job.extra->state_seq != 0) changes_.erase_state(job.extra->state_seq);
  let_go(job);
  forget(job);
}

// Its payloads are needed for the dead set. Until they are read nobody may find it: what is pushed of its
// name meanwhile is another job. The control stays as long, so the next owner does the same. False: so it is.
bool Shard::kill_queued(Job& job, Seq control, Time now) {
  leave(job);
  order_.pass_key(job, now);
  restored_.forget(job);
  leave_gates(job);
  table_.erase(job);
  if (job.payloads.all_present()) {
    end_killed(job, now);
    return true;
  }
  job.more().cancel_seq = control;
  ++cancels_[control];
  killed_.emplace(job.arrival(), &job);
  return false;
}

void Shard::end_killed(Job& job, Time now) {
  const std::string text = "it was killed while it waited";
  for (const auto& merged : job.payloads.merge_duplicates()) changes_.erase(merged.duplicate);
  keep(job, {JobStatus::dead, now, nullptr, FailureKind::cancelled, text});
  for (const auto& piece : job.payloads.pieces()) {
    bury(job, piece, FailureKind::cancelled, text, now);
    changes_.erase(piece.seq);
  }
  run_died();
  drop_rows(job);
  let_go(job);
  Job::destroy(&job);
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
  note_pushed(job);
  extra.through = std::max(extra.through, logged.seq);
  // One that is due keeps its place, unless it is told another.
  const Time asked = logged.entry.run_at.value_or(std::min(logged.at, now));
  const bool replaces_time = logged.entry.options.replaces_time;
  if (asked < due_at(job, now) || replaces_time) {
    job.set_time(asked);
    if (!logged.entry.run_at) extra.set_at = now;
  }
  if (replaces_time) move_expiry(job, asked);
  changes_.write_state(job);
  if (!settling) place(job, now);
}

}  // namespace ordo::domain
