// Jobs that wait for a response (rules: waiting). Such a job counts as running: it has its key, and what is
// pushed of its id stands beside it. It has no run until the response is there, which is then handled by one
// of its own.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/saturate.h"
#include "base/time_text.h"
#include "domain/due.h"
#include "domain/error_text.h"
#include "domain/retry.h"
#include "domain/shard.h"
#include "domain/wait_note.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kMostOpen = 1000;  // waits of a job

}  // namespace

// ------------------------------------------------------------------------------------------- from the log

void Shard::apply_wait(const LoggedEntry& logged) {
  const auto& entry = logged.entry;
  auto note = *decode_wait_note(entry.payload);  // decode_entry() has read it
  const auto kind = kinds_.find(entry.kind);
  auto jobs = kind ? table_.find_all(*kind, entry.id, entry.key) : std::vector<Job*>{};
  if (entry.type == EntryType::expected) {
    expect(jobs.empty() ? nullptr : jobs.front(), note, logged.seq);
    return;
  }
  for (Job* job : jobs) {
    auto* open = job->waits() != nullptr ? job->waits()->find(note.wait) : nullptr;
    if (open == nullptr) continue;
    if (open->response == 0) {
      answer(*job, *open, std::move(note), logged);
    } else {
      changes_.erase(logged.seq);  // it came twice
    }
    return;
  }
  unused_.push_back(logged.seq);
}

// Its run, or one of an attempt before, has opened a wait, or is about to. Who has ended waits for nothing.
void Shard::expect(Job* job, const WaitNote& note, Seq entry) {
  if (job == nullptr) {
    awaiting_.close({note.wait, note.key, entry});
    return;
  }
  auto& waits = job->more().wait();
  auto* open = waits.find(note.wait);
  if (open == nullptr) {
    waits.open.push_back({note.wait, note.key, entry});
    forget_stale(waits);
  } else if (open->expected == 0) {
    open->expected = entry;
  } else {
    changes_.erase(entry);
    return;
  }
  if (job->set_aside) changes_.set_aside(entry);
}

// A job that names a new key in each of very many runs, and waits for none of them.
void Shard::forget_stale(JobWaits& waits) {
  if (waits.open.size() <= kMostOpen) return;
  const auto stale =
      std::ranges::find_if(waits.open, [&](const OpenWait& open) { return open.key != waits.awaits.key; });
  if (stale == waits.open.end()) return;
  erase_expected(*stale);
  drop_wait(*stale);
  waits.open.erase(stale);
}

// Nobody is going to wait for it. A response that has come stands in the log until it is a dead letter: so
// the next owner finds it.
void Shard::drop_wait(const OpenWait& open) {
  if (open.response == 0) return awaiting_.close(open);
  unused_.push_back(open.response);
  if (open.expected != 0) changes_.erase(open.expected);
}

void Shard::answer(Job& job, OpenWait& open, WaitNote note, const LoggedEntry& logged) {
  // One that has its answer already keeps its turn.
  const bool waits = job.place == Place::awaiting && job.waits()->answered() == nullptr;
  if (waits) awaiting_.leave(job);
  open.response = logged.seq;
  open.message_id = std::move(note.message_id);
  if (budget_.has_room(note.body.size(), /*is_due=*/true)) open.body = CachedBytes(note.body, budget_);
  if (!waits) return;  // it is kept for the next time that the job waits for this key
  auto& awaits = job.waits()->awaits;
  if (job.waits()->answered() == &open) {
    awaits.retry_at = std::max(awaits.retry_at, logged.at);
    job.extra->set_at = std::max(job.extra->set_at, logged.at);
  }
  wait_on(job);
}

// A state said that the job waits; all its payloads are read.
void Shard::resume_awaiting(Job& job) {
  const Line* line = table_.line_of(job);
  if ((line != nullptr && line->active != nullptr) || job.waits() == nullptr || !job.waits()->awaits) return;
  // What said that it was expected may have been unreadable: the response to it is this job's all the same.
  const auto& awaits = job.waits()->awaits;
  if (job.waits()->find(awaits.wait) == nullptr) job.waits()->open.push_back({awaits.wait, awaits.key});
  order_.take_key(job);
  job.was_held = job.held;
  activate(job);
  if (kinds_.queue().hold == SlotHold::response) take_slots(job, takeover_.now, /*goes_on=*/true);
  const bool keeps_lock = kinds_.queue().lock_span == LockSpan::response && job.demand != nullptr;
  if (keeps_lock && job.demand->has_lock_free()) take_lock(job);  // other rules may have held before
  wait_on(job);
}

// ------------------------------------------------------------------------------------------- its life

// Its last run has ended with it. It keeps its payloads in memory: one of them may die when its time is over.
void Shard::begin_wait(Job& job, const Outcome& outcome, Time now) {
  auto& waits = job.more().wait();
  if (kinds_.queue().hold == SlotHold::dispatch) free_slots(job);
  end_wait(job);
  waits.awaits = {outcome.wait_id, outcome.text, outcome.deadline, job.payloads.last(), -1, now};
  job.extra->set_at = now;
  if (waits.find(outcome.wait_id) == nullptr) waits.open.push_back({outcome.wait_id, outcome.text});
  job.held = strict();
  set_aside(job, outcome.deadline, now);
  if (job.set_aside && sets_aside_) {
    for (const auto& open : waits.open) {
      if (open.expected != 0) changes_.set_aside(open.expected);
    }
  }
  wait_on(job);
  changes_.write_state(job);
  if (watched_) emit(EventType::job_awaiting, job, now);
}

// Its place among those that wait, after whatever has changed.
void Shard::wait_on(Job& job) {
  if (job.place == Place::awaiting) awaiting_.leave(job);
  job.risk = order_.risk_of(job, job.waits()->awaits.retry_at);
  awaiting_.enter(job);
  if (job.has_lock && kinds_.queue().lock_span == LockSpan::run) awaiting_.unlock(job);
}

// The response that it waited for is handled, or never will be.
void Shard::end_wait(Job& job) {
  auto* waits = job.waits();
  if (waits == nullptr || !waits->awaits) return;
  if (const auto* answered = waits->answered()) {
    changes_.erase(answered->response);
    if (answered->expected != 0) changes_.erase(answered->expected);
    waits->open.erase(waits->open.begin() + (answered - waits->open.data()));
  }
  waits->awaits = {};
}

// The job is over, but not maybe what it has opened.
void Shard::release_waits(Job& job) {
  auto* waits = job.waits();
  if (waits == nullptr) return;
  const auto jobs = table_.find_all(job.kind, job.id(), job.key());
  const bool has_next = std::ranges::any_of(jobs, [&](const Job* other) { return other != &job; });
  for (auto& open : waits->open) {
    if (has_next) erase_expected(open);
    drop_wait(open);
  }
  waits->open.clear();
  waits->awaits = {};
}

// The job goes on with other payloads, or another of its name does: whoever rebuilds that one must not find
// that this was expected, since what comes of it would count as the answer to its next wait for that key.
void Shard::erase_expected(OpenWait& open) {
  if (open.expected != 0) changes_.erase(std::exchange(open.expected, 0));
}

void Shard::forget_waits(Job& job) {
  if (auto* waits = job.waits())
    std::ranges::for_each(waits->open, [&](auto& open) { erase_expected(open); });
  release_waits(job);
}

void Shard::cancel_awaiting(Job& job, Time now) {
  awaiting_.leave(job);
  finish(job, {.as = JobStatus::cancelled, .at = now});
}

// ------------------------------------------------------------------------------------------- on_response

std::optional<Run> Shard::start_response(Job& job, Time now) {
  auto& active = runs_.open(job.risk, now);
  const RunNo no = runs_.last();
  awaiting_.take_lock(job);
  awaiting_.leave(job);
  active.jobs.push_back(&job);
  active.response = job.waits()->answered()->response;
  if (active.risk == Risk::normal) return describe(no);
  job.more().mark = active.risk == Risk::suspect ? Mark::alone : Mark::shared;
  changes_.write_state(job);
  active.marking = true;
  changes_.mark(no);
  return std::nullopt;
}

void Shard::await_again(Job& job, Time at) {
  leave_bytes(job, at);
  job.waits()->awaits.retry_at = at;
  changes_.write_state(job);
  wait_on(job);
}

void Shard::end_response(Job& job, const ActiveRun& active, const JobEnd& end, Time now) {
  using Kind = Outcome::Kind;
  const auto& outcome = end.outcome;
  job.more().set_at = now;
  switch (outcome.kind) {
    case Kind::snoozed:
      await_again(job, time_after(now, std::max(outcome.snooze, Duration{0})));
      return;
    case Kind::put_back:
      await_again(job, now);
      return;
    case Kind::waiting:
      begin_wait(job, outcome, now);
      return;
    case Kind::failed:
      fail_response(job, active, end, now);
      return;
    case Kind::done:
    case Kind::discarded:
      break;
  }
  ORDO_ASSERT(false);
}

// What it was to handle is gone from the store: that attempt is over.
void Shard::lose_response(Job& job, const ActiveRun& active, Time now) {
  auto& waits = *job.waits();
  const auto* answered = waits.answered();
  const auto key = waits.awaits.key;
  if (answered != nullptr) {
    if (answered->expected != 0) changes_.erase(answered->expected);
    waits.open.erase(waits.open.begin() + (answered - waits.open.data()));
  }
  waits.awaits = {};
  const auto text = "the response to '" + key + "' is gone from the store";
  fail(job, active, {Outcome::fail(text, FailureKind::response_error), 0}, now);
}

void Shard::fail_response(Job& job, const ActiveRun& active, const JobEnd& end, Time now) {
  auto& extra = job.more();
  auto& awaits = extra.waits->awaits;
  const auto failure = end.outcome.failure;
  if (failure == FailureKind::crash) {
    extra.count_crash(now);
    if (active.risk == Risk::suspect && crashed_too_often(job)) {
      ++lasting_.failed;
      end_wait(job);
      keep(job, {JobStatus::failed, now, &active, failure, end.outcome.text});
      die(job, {&active, failure, end.outcome.text, gives_up(job)}, now);
      return;
    }
  }
  if (awaits.retry_count < std::numeric_limits<std::int32_t>::max()) ++awaits.retry_count;
  const auto& kind = kinds_[job.kind];
  const RetryQuestion question{kinds_.queue().name,
                               kind.name,
                               std::string(job.id()),
                               failure,
                               end.outcome.text,
                               awaits.retry_count,
                               saturating_sub(now, due_at(job, now)),
                               now};
  const auto verdict = decide_retry(kind.rules, question, end.jitter, job.more().options.max_retries);
  if (verdict.dies) {
    end_wait(job);
    fail(job, active, {Outcome::fail(verdict.error, FailureKind::response_error), end.jitter}, now);
    return;
  }
  ++lasting_.failed;
  keep(job, {JobStatus::failed, now, &active, failure, verdict.error});
  extra.error_kind = failure;
  extra.error = cut(verdict.error);
  auto& told = emit(EventType::job_failed, job, now, now - active.started, extra.error);
  told.attempt = std::int64_t{awaits.retry_count} + 1;
  told.retry_at = verdict.retry_at;
  await_again(job, verdict.retry_at);
}

// ------------------------------------------------------------------------------------------- the store's
// word

void Shard::wait_closed(const std::string& wait, bool is_answered, double jitter, Time now) {
  const auto closed = awaiting_.closed(wait);
  for (const auto entry : closed.entries) changes_.erase(entry);
  if (closed.job == nullptr) return;
  Job& job = *closed.job;
  auto& waits = *job.waits();
  if (is_answered || waits.answered() != nullptr) return;  // its response is here, or about to be read
  awaiting_.leave(job);
  const auto text = "no response to '" + waits.awaits.key + "' came in time";
  const auto* open = waits.find(wait);
  if (open != nullptr) {
    if (open->expected != 0) changes_.erase(open->expected);
    waits.open.erase(waits.open.begin() + (open - waits.open.data()));
  }
  end_wait(job);
  ActiveRun over;
  over.started = now;
  fail(job, over, {Outcome::fail(text, FailureKind::timeout), jitter}, now);
  run_died();
}

}  // namespace ordo::domain
