// What the end of a run does to its jobs.
#include <algorithm>
#include <iterator>
#include <limits>

#include "base/assert.h"
#include "base/saturate.h"
#include "base/time_text.h"
#include "domain/due.h"
#include "domain/error_text.h"
#include "domain/retry.h"
#include "domain/shard.h"

namespace ordo::domain {

void Shard::ended(RunNo no, const std::vector<JobEnd>& ends, Time now) {
  const auto is_start = [](const JobEnd& end) { return !end.outcome.is_not_started(); };
  if (std::ranges::any_of(ends, is_start)) started(no);
  const auto run = runs_.close(no);
  ORDO_ASSERT(!run.marking && run.jobs.size() == ends.size());
  if (run.lent) changes_.note_lent();
  for (std::size_t i = 0; i < ends.size(); ++i) penalize(*run.jobs[i], ends[i].outcome.penalty, now);
  for (std::size_t i = 0; i < ends.size(); ++i) end_one(*run.jobs[i], run, ends[i], now);
  run_died();
}

void Shard::run_died() {
  if (!dying_.empty()) changes_.tell_deaths(std::exchange(dying_, {}));
}

// Their entries are not erased: should the store have them after all, the next owner finds them.
void Shard::lose_missing(RunNo no, Time now) {
  const auto run = runs_.close(no);
  ORDO_ASSERT(!run.lent);
  for (Job* job : run.jobs) {
    if (job->extra) job->extra->mark = Mark::none;
    const auto gone = job->payloads.absent();
    for (const auto& [seq, score] : gone) {
      bury(*job, {seq, score, {}}, FailureKind::handler,
           "its payload is gone from the store (entry " + std::to_string(seq) + ")", now);
    }
    if (!gone.empty()) ++lasting_.failed;
    if (gone.size() == job->payloads.size()) {
      keep(*job,
           {.as = JobStatus::dead, .at = now, .run = &run, .error = "its payloads are gone from the store"});
      leave_run(*job);
      continue;
    }
    if (!gone.empty()) {
      keep_demand(*job);
      job->payloads.drop_absent();
      job->wait_until(due_at(*job, now), now,
                      /*chosen=*/false);  // the entry that says when it came may be gone
    }
    if (gone.empty() && run.response != 0 && job->waits() != nullptr) {
      if (job->extra->cancel_seq != 0) {
        finish(*job, {.as = JobStatus::cancelled, .at = now, .run = &run});
      } else {
        lose_response(*job, run, now);
      }
      continue;
    }
    go_back(*job, now, job->was_held);
  }
  run_died();
}

void Shard::end_one(Job& job, const ActiveRun& active, const JobEnd& end, Time now) {
  const auto& outcome = end.outcome;
  if (outcome.kind > Outcome::Kind::waiting)
    return end_one(job, active, {Outcome::fail("its outcome is of an unknown kind"), end.jitter}, now);
  if (job.extra) job.extra->mark = Mark::none;
  const bool ended_well = outcome.kind == Outcome::Kind::done || outcome.kind == Outcome::Kind::discarded;
  const bool goes_on = ended_well && has_rest(job, outcome);
  if (ended_well && !goes_on) {
    ++lasting_.processed;
    if (watched_) emit(EventType::job_finished, job, now, now - active.started);
    if (active.response != 0) end_wait(job);
    const bool is_done = outcome.kind == Outcome::Kind::done;
    finish(job, {.as = is_done ? JobStatus::done : JobStatus::discarded,
                 .at = now,
                 .run = &active,
                 .error = is_done ? std::string_view{} : outcome.text});
    return;
  }
  if (job.extra && job.extra->cancel_seq != 0) {
    if (watched_) emit(EventType::job_failed, job, now, now - active.started, "cancelled");
    if (active.response != 0) end_wait(job);
    finish(job, {.as = JobStatus::cancelled, .at = now, .run = &active});
    return;
  }
  if (job.extra && job.extra->foreign && !job.extra->foreign->lost_state.empty()) {
    die_with_lost_state(job, active, now);
    return;
  }
  if (!outcome.is_not_started()) note_start(job, active);
  if (goes_on) return go_on_with_rest(job, active, *outcome.delivered, now);
  if (active.response != 0) {
    // A state that is gone from the store took with it what the job waited for: it runs anew.
    const bool waits = job.waits() != nullptr && job.waits()->awaits;
    return waits ? end_response(job, active, end, now) : go_back(job, now, strict());
  }
  if (job.extra && !outcome.is_not_started()) job.extra->options.set_expiry({});
  const bool in_time = outcome.kind != Outcome::Kind::put_back && outcome.failure != FailureKind::timeout;
  if (job.extra && in_time) job.extra->alone = false;
  switch (outcome.kind) {
    case Outcome::Kind::snoozed:
      job.wait_until(time_after(now, std::max(outcome.snooze, Duration{0})), now, /*chosen=*/true);
      go_back(job, now, strict());
      return;
    case Outcome::Kind::failed:
      fail(job, active, end, now);
      return;
    case Outcome::Kind::put_back:
      if (outcome.is_not_started()) {
        take_new_time(job);
        if (active.charged != Time{}) return_slots(job, active.charged);  // else another owner was charged
      }
      if (outcome.is_put_back_alone()) isolate(job, outcome.failure, now);
      go_back(job, now, outcome.is_not_started() ? job.was_held : strict());
      return;
    case Outcome::Kind::waiting:
      begin_wait(job, outcome, now);
      return;
    case Outcome::Kind::done:
    case Outcome::Kind::discarded:
      break;
  }
  ORDO_ASSERT(false);
}

// It was not alone when its process died, or was killed: it may be another's fault, and has not failed.
void Shard::isolate(Job& job, FailureKind because, Time now) {
  if (because == FailureKind::crash) {
    job.more().count_crash(now);
  } else {
    job.more().alone = true;
  }
}

void Shard::fail(Job& job, const ActiveRun& active, const JobEnd& end, Time now) {
  ++lasting_.failed;
  auto& extra = job.more();
  const auto& kind = kinds_[job.kind];
  const auto failure = end.outcome.failure;
  if (failure == FailureKind::crash) {
    extra.count_crash(now);
    if (active.risk == Risk::suspect && crashed_too_often(job)) {
      const auto text =
          end.outcome.text + " (it has crashed " + std::to_string(extra.crashes) + " times: max_crashes)";
      keep(job, {JobStatus::failed, now, &active, failure, text});
      die(job, {&active, failure, text, gives_up(job)}, now);
      return;
    }
  }
  if (extra.retry_count < std::numeric_limits<std::int32_t>::max()) ++extra.retry_count;
  const RetryQuestion question{kinds_.queue().name,
                               kind.name,
                               std::string(job.id()),
                               failure,
                               end.outcome.text,
                               extra.retry_count,
                               saturating_sub(now, due_at(job, now)),
                               now};
  const bool fits_no_run = end.outcome.delivered == 0U;
  const auto verdict = fits_no_run
                           ? RetryVerdict{.dies = true, .retry_at = now, .error = end.outcome.text}
                           : decide_retry(kind.rules, question, end.jitter, extra.options.max_retries);
  keep(job, {JobStatus::failed, now, &active, failure, verdict.error});
  if (verdict.dies) {
    die(job, {&active, failure, verdict.error, !fits_no_run}, now);
    return;
  }
  if (is_retried_elsewhere(job, failure)) {
    hand_over(job, active, failure, verdict.error, now);
    return;
  }
  extra.error_kind = failure;
  extra.error = cut(verdict.error);
  const bool is_chosen = kind.rules.retry.function || end.outcome.penalty > Duration{0};
  job.wait_until(verdict.retry_at, now, is_chosen);
  if (verdict.priority) extra.options.priority = verdict.priority;
  if (verdict.timeout) extra.options.timeout = verdict.timeout;
  read_options(job);
  auto& told = emit(EventType::job_failed, job, now, now - active.started, extra.error);
  told.attempt = std::int64_t{extra.retry_count} + 1;
  told.retry_at = job.run_at;
  go_back(job, now, strict());
}

bool Shard::crashed_too_often(const Job& job) const {
  return job.extra->crashes >= static_cast<std::uint32_t>(std::max(kinds_[job.kind].rules.max_crashes, 1));
}

// The next failure would be its last.
bool Shard::gives_up(const Job& job) const {
  const auto& rules = kinds_[job.kind].rules;
  const auto& retry = rules.retry;
  if (!retry.function && retry.strategy == RetryPolicy::Strategy::none) return true;
  const auto most =
      job.extra ? job.extra->options.max_retries.value_or(rules.max_retries) : rules.max_retries;
  return std::int64_t{job.retry_count()} + 1 >= most;
}

void Shard::die_of_crashes(Job& job, Time now) {
  const auto text = "its node died " + std::to_string(job.extra->crashes) + " times while it ran alone";
  die(job, {nullptr, FailureKind::crash, text, gives_up(job)}, now);
  run_died();
}

// The job is active. One payload goes to the dead set; the rest goes back as if it had never failed.
void Shard::die(Job& job, const Death& death, Time now) {
  const auto& [run, kind, error, has_given_up] = death;
  auto& extra = job.more();
  const auto choice = kinds_[job.kind].rules.payloads;
  const auto index = dying_payload(job.payloads.size(), choice);
  const bool is_kept = !has_given_up || extra.options.keeps_dead.value_or(true);
  if (is_kept) {
    bury(job, job.payloads.pieces()[index], kind, error, now);
  } else {
    lose(job, job.payloads.pieces()[index], kind, error, now);
  }
  if (choice != PayloadChoice::all || job.payloads.size() == 1) {
    finish(job, {is_kept ? JobStatus::dead : JobStatus::discarded, now, run, kind, error});
    return;
  }
  keep_demand(job);
  forget_waits(job);  // its attempts are over
  changes_.erase(job.payloads.remove(index).seq);
  extra.retry_count = -1;
  if (kind == FailureKind::crash) extra.crashes = 0;
  extra.alone = false;
  extra.error_kind = kind;
  extra.error = cut(error);
  job.wait_until(now, now, /*chosen=*/false);
  go_back(job, now, strict());
}

// Its run received only its first payloads.
bool Shard::has_rest(const Job& job, const Outcome& outcome) const {
  return outcome.delivered && kinds_[job.kind].rules.payloads == PayloadChoice::all &&
         *outcome.delivered < job.payloads.size();
}

// The job is active. It goes on with the payloads behind the first `count`, before all others of its key.
void Shard::go_on_with_rest(Job& job, const ActiveRun& run, std::size_t count, Time now) {
  if (watched_) emit(EventType::job_finished, job, now, now - run.started);
  keep_demand(job);
  forget_waits(job);
  for (const auto& piece : job.payloads.take_first(count)) changes_.erase(piece.seq);
  auto& extra = job.more();
  extra.options.set_expiry({});
  extra.retry_count = -1;
  extra.error.clear();
  job.wait_until(due_at(job, now), now, /*chosen=*/false);  // the entry that says when it came may be gone
  go_back(job, now, /*held=*/true);
}

void Shard::bury(const Job& job, const Piece& dying, FailureKind kind, const std::string& error, Time now) {
  auto dead = dead_payload(job, dying, kind, error);
  dying_.push_back(view_of(dead, JobStatus::dead, now));
  if (watched_)
    emit(EventType::job_dead, job, now, {}, dead.error).attempt = std::int64_t{dead.retry_count} + 1;
  changes_.add_dead(std::move(dead));
}

// Its record says discarded, and so does what is told of it.
void Shard::lose(const Job& job, const Piece& dying, FailureKind kind, const std::string& error, Time now) {
  const auto dead = dead_payload(job, dying, kind, error);
  dying_.push_back(view_of(dead, JobStatus::discarded, now));
  if (watched_) {
    auto& told = emit(EventType::job_failed, job, now, {}, "discarded after its last failure: " + dead.error);
    told.attempt = std::int64_t{dead.retry_count} + 1;
  }
}

JobView Shard::view_of(const DeadPayload& dead, JobStatus status, Time now) const {
  return {kinds_.queue().name,          dead.kind, dead.key,         dead.id,      status,
          {{dead.payload, dead.score}}, now,       dead.retry_count, dead.crashes, dead.error};
}

DeadPayload Shard::dead_payload(const Job& job, const Piece& dying, FailureKind kind,
                                const std::string& error) const {
  const JobExtra none;
  const auto& extra = job.extra ? *job.extra : none;
  DeadPayload dead{kinds_[job.kind].name,
                   std::string(job.key()),
                   std::string(job.id()),
                   dying.bytes.present() ? std::string(dying.bytes.view()) : std::string{},
                   dying.score,
                   extra.options,
                   extra.retry_count,
                   extra.crashes,
                   kind,
                   std::string(cut(error))};
  dead.options.set_expiry({});  // who brings it back wants it to run
  if (extra.foreign) {
    for (const auto& [seq, fields] : extra.foreign->entry_fields) {
      if (seq == dying.seq) dead.entry_fields = fields;
    }
  }
  return dead;
}

void Shard::finish(Job& job, const Ending& ending) {
  keep(job, ending);
  for (const auto& piece : job.payloads.pieces()) changes_.erase(piece.seq);
  leave_run(job);
}

// For good.
void Shard::leave_run(Job& job) {
  free_slots(job);
  let_go(job);
  drop_rows(job);
  job.place = Place::ending;
  changes_.end(job);
}

// Its state, and the control that waits for it.
void Shard::drop_rows(Job& job) {
  if (!job.extra) return;
  auto& extra = *job.extra;
  if (extra.state_seq != 0) changes_.erase_state(extra.state_seq);
  if (extra.cancel_seq != 0 && --cancels_.at(extra.cancel_seq) == 0) {
    cancels_.erase(extra.cancel_seq);
    changes_.erase(extra.cancel_seq);
  }
  changes_.drop_state(job);
}

// What was pushed while the job ran is one with it: run_at and retry_count are the ones of this job.
void Shard::join_beside(Job& job) {
  Job* beside = table_.find_queued(job.kind, job.id(), job.key());
  if (beside == nullptr) return;
  auto& extra = job.more();
  extra.through = std::max(extra.through, beside->through());
  if (beside->extra) {
    merge_options(job, beside->extra->options);
    extra.scores.insert(beside->extra->scores.begin(), beside->extra->scores.end());
    if (beside->extra->state_seq != 0) changes_.erase_state(beside->extra->state_seq);
    if (auto* waits = beside->waits()) std::ranges::move(waits->open, std::back_inserter(extra.wait().open));
    if (beside->extra->foreign) {
      auto& fields = beside->extra->foreign->entry_fields;
      auto& all = extra.more().entry_fields;
      all.insert(all.end(), fields.begin(), fields.end());
    }
  }
  defer_expiry(job, beside->extra ? beside->extra->options.expiry() : std::nullopt);
  leave(*beside);
  join_demand(job, *beside);
  for (auto& piece : beside->payloads.take_all()) add_piece(job, std::move(piece));
  forget(*beside);
  read_options(job);
  changes_.write_state(job);
}

void Shard::go_back(Job& job, Time now, bool held) {
  free_slots(job);
  join_beside(job);
  job.held = held;
  end_wait(job);
  set_aside(job, due_at(job, now), now);
  leave_bytes(job, now);
  table_.deactivate(job);
  changes_.settle(job);
  changes_.write_state(job);
}

// Without room for what it was given to run, the store keeps it.
void Shard::leave_bytes(Job& job, Time now) {
  if (budget_.has_room(0, is_due(job, now))) return;
  job.payloads.forget_bytes();
  if (auto* waits = job.waits()) {
    for (auto& open : waits->open) open.body = {};
  }
}

}  // namespace ordo::domain
