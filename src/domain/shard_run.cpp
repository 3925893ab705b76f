// A run's life: which jobs it takes, and what its end does to them.
#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/assert.h"
#include "base/saturate.h"
#include "base/time_text.h"
#include "domain/error_text.h"
#include "domain/retry.h"
#include "domain/shard.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kPassedOver = 256;  // jobs that a batch cannot take, before it starts without more

}  // namespace

Shard::Taken Shard::take(Time now, const Admission& admission, Run& run) {
  Job* first = best_due(now, admission);
  if (first == nullptr) return Taken::none;
  const RunNo no = ++last_run_;
  auto& active = runs_[no];
  active.risk = first->risk;
  active.started = now;
  auto& kind = *kinds_[first->kind];
  auto& due = due_set(*first);
  const std::size_t limit = active.risk == Risk::suspect ? 1 : std::max(kind.rules.batch_size, 1U);
  std::unordered_set<std::string_view> ids;
  std::size_t passed_over = 0;
  for (auto next = due.from(*first); next != due.end() && active.jobs.size() < limit;) {
    Job& job = *next++;
    const bool may_start = job.run_at <= now && (limit == 1 || ids.insert(job.id()).second);
    if (may_start) {
      start(job, active);
    } else if (++passed_over == kPassedOver) {
      break;
    }
  }
  if (active.risk != Risk::normal) {
    active.marking = true;
    marking_.push_back(no);
    return Taken::pending;
  }
  run = describe(no, active);
  return Taken::ready;
}

// The job has its key from here to a durable end.
void Shard::activate(Job& job) {
  job.place = Place::running;
  table_.activate(job);
  --queued_;
  ++running_;
}

void Shard::start(Job& job, Active& active) {
  due_set(job).erase(job);
  activate(job);
  active.jobs.push_back(&job);
  job.was_held = job.held;
  // Another may sort before this one after a crash: a job that waits for its time, or, as times are read
  // anew, one that came.
  if (job.in_line && (mixed_priorities_ || job.own_time) && !job.held) {
    job.held = true;
    dirty(job);
  }
  if (active.risk != Risk::normal) {
    job.more().mark = active.risk == Risk::suspect ? Mark::alone : Mark::shared;
    dirty(job);
  }
}

void Shard::started(RunNo no) {
  auto& active = runs_.at(no);
  if (std::exchange(active.told, true) || !watched_) return;
  for (const Job* job : active.jobs) emit(EventType::job_started, *job, active.started);
}

BatchJob Shard::deliver(const Job& job) const {
  BatchJob delivered{std::string(job.id()), std::string(job.key()), {}, job.retry_count(), 0};
  const auto chosen = domain::delivered(job.payloads.pieces(), kinds_[job.kind]->rules.payloads);
  delivered.payloads.reserve(chosen.size());
  for (const auto& piece : chosen)
    delivered.payloads.push_back({std::string(piece.bytes.view()), piece.score});
  return delivered;
}

Run Shard::describe(RunNo no, const Active& active) const {
  Run run;
  run.no = no;
  run.risk = active.risk;
  const auto& kind = *kinds_[active.jobs.front()->kind];
  run.kind = kind.name;
  run.timeout = Duration::max();
  run.jobs.reserve(active.jobs.size());
  for (const Job* job : active.jobs) {
    const auto own = job->extra ? job->extra->options.timeout : std::nullopt;
    run.timeout = std::min(run.timeout, own.value_or(kind.rules.timeout));
    for (const auto& piece : job->payloads.pieces()) {
      if (!piece.bytes.present()) run.missing.push_back(piece.seq);
    }
  }
  if (run.missing.empty()) {
    for (const Job* job : active.jobs) run.jobs.push_back(deliver(*job));
  } else {
    std::sort(run.missing.begin(), run.missing.end());
  }
  return run;
}

bool Shard::provide(RunNo no, std::span<const std::pair<Seq, std::string_view>> payloads) {
  const auto find = [&](Seq seq) -> std::optional<std::string_view> {
    const auto at = std::ranges::lower_bound(payloads, seq, {}, &std::pair<Seq, std::string_view>::first);
    return at != payloads.end() && at->first == seq ? std::optional(at->second) : std::nullopt;
  };
  bool complete = true;
  for (Job* job : runs_.at(no).jobs) {
    job->payloads.provide(find, budget_);
    complete = complete && job->payloads.all_present();
  }
  return complete;
}

void Shard::fill(Run& run) {
  auto& active = runs_.at(run.no);
  for (Job* job : active.jobs) {
    const auto duplicates = job->payloads.merge_duplicates();
    for (const auto& merged : duplicates) note_merged(*job, merged);
    // The entry that goes may be the one that brought them.
    if (!duplicates.empty() && job->extra && job->extra->options != JobOptions{}) dirty(*job);
  }
  run = describe(run.no, active);
  ORDO_ASSERT(run.missing.empty());
}

// --------------------------------------------------------------------------------------------------- the end
// of a run

void Shard::ended(RunNo no, const std::vector<JobEnd>& ends, Time now) {
  const auto is_start = [](const JobEnd& end) { return !end.outcome.is_not_started(); };
  if (std::ranges::any_of(ends, is_start)) started(no);
  const auto node = runs_.extract(no);
  ORDO_ASSERT(!node.empty() && !node.mapped().marking && node.mapped().jobs.size() == ends.size());
  if (node.mapped().lent) {
    --lent_;
    lent_changed_ = true;
  }
  for (std::size_t i = 0; i < ends.size(); ++i) end_one(*node.mapped().jobs[i], node.mapped(), ends[i], now);
  run_died();
}

void Shard::run_died() {
  if (!dying_.empty()) deaths_.push_back(std::exchange(dying_, {}));
}

// Their entries are not erased: should the store have them after all, the next owner finds them.
void Shard::lose_missing(RunNo no, Time now) {
  const auto node = runs_.extract(no);
  ORDO_ASSERT(!node.empty() && !node.mapped().lent);
  for (Job* job : node.mapped().jobs) {
    if (job->extra) job->extra->mark = Mark::none;
    const auto gone = job->payloads.absent();
    for (const auto& [seq, score] : gone) {
      bury(*job, {seq, score, {}}, FailureKind::handler,
           "its payload is gone from the store (entry " + std::to_string(seq) + ")", now);
    }
    if (!gone.empty()) ++failed_;
    if (gone.size() == job->payloads.size()) {
      leave_run(*job);
      continue;
    }
    if (!gone.empty()) {
      job->payloads.drop_absent();
      set_time(*job, job->run_at);  // the entry that says when it came may be gone
    }
    go_back(*job, now, job->was_held);
  }
  run_died();
}

void Shard::end_one(Job& job, const Active& active, const JobEnd& end, Time now) {
  const auto& outcome = end.outcome;
  if (job.extra) job.extra->mark = Mark::none;
  const bool ended_well = outcome.kind == Outcome::Kind::done || outcome.kind == Outcome::Kind::discarded;
  if (ended_well) {
    ++processed_;
    if (watched_) emit(EventType::job_finished, job, now, now - active.started);
    finish(job);
    return;
  }
  if (job.extra && job.extra->cancel_seq != 0) {
    ++failed_;
    if (watched_) emit(EventType::job_failed, job, now, now - active.started, "cancelled");
    finish(job);
    return;
  }
  if (job.extra && job.extra->foreign && !job.extra->foreign->lost_state.empty()) {
    die_with_lost_state(job);
    return;
  }
  switch (outcome.kind) {
    case Outcome::Kind::snoozed:
      set_time(job, time_after(now, std::max(outcome.snooze, Duration{0})));
      go_back(job, now, strict());
      return;
    case Outcome::Kind::failed:
      fail(job, active, end, now);
      return;
    case Outcome::Kind::put_back:
      go_back(job, now, outcome.is_not_started() ? job.was_held : strict());
      return;
    case Outcome::Kind::done:
    case Outcome::Kind::discarded:
      break;
  }
  ORDO_ASSERT(false);
}

void Shard::fail(Job& job, const Active& active, const JobEnd& end, Time now) {
  ++failed_;
  auto& extra = job.more();
  const auto& kind = *kinds_[job.kind];
  const auto failure = end.outcome.failure;
  if (failure == FailureKind::crash) {
    count_crash(extra, now);
    if (active.risk == Risk::suspect && crashed_too_often(job)) {
      die(job, failure, end.outcome.text, now);
      return;
    }
  }
  if (extra.retry_count < std::numeric_limits<std::int32_t>::max()) ++extra.retry_count;
  const RetryQuestion question{options_.name,    kind.name,         std::string(job.id()),           failure,
                               end.outcome.text, extra.retry_count, saturating_sub(now, job.run_at), now};
  const auto verdict = decide_retry(kind.rules, question, end.jitter);
  if (verdict.dies) {
    die(job, failure, verdict.error, now);
    return;
  }
  extra.error_kind = failure;
  extra.error = cut(verdict.error);
  set_time(job, verdict.retry_at);
  if (verdict.priority) extra.options.priority = verdict.priority;
  if (verdict.timeout) extra.options.timeout = verdict.timeout;
  set_priority(job);
  if (watched_) emit(EventType::job_failed, job, now, now - active.started, extra.error);
  go_back(job, now, strict());
}

void Shard::count_crash(JobExtra& extra, Time now) const {
  if (extra.crashes > 0 && now - extra.last_crash >= kCrashMemory) extra.crashes = 0;
  ++extra.crashes;
  extra.last_crash = now;
}

bool Shard::crashed_too_often(const Job& job) const {
  return job.extra->crashes >= static_cast<std::uint32_t>(std::max(kinds_[job.kind]->rules.max_crashes, 1));
}

void Shard::die_of_crashes(Job& job, Time now) {
  die(job, FailureKind::crash,
      "its node died " + std::to_string(job.extra->crashes) + " times while it ran alone", now);
  run_died();
}

// The job is active. One payload goes to the dead set; the rest goes back as if it had never failed.
void Shard::die(Job& job, FailureKind kind, const std::string& error, Time now) {
  auto& extra = job.more();
  const auto choice = kinds_[job.kind]->rules.payloads;
  const auto index = dying_payload(job.payloads.size(), choice);
  bury(job, job.payloads.pieces()[index], kind, error, now);
  if (choice != PayloadChoice::all || job.payloads.size() == 1) {
    finish(job);
    return;
  }
  changes_.erase.push_back(job.payloads.remove(index).seq);
  extra.retry_count = -1;
  if (kind == FailureKind::crash) extra.crashes = 0;
  extra.error_kind = kind;
  extra.error = cut(error);
  set_time(job, now);
  go_back(job, now, strict());
}

void Shard::bury(const Job& job, const Piece& dying, FailureKind kind, const std::string& error, Time now) {
  const JobExtra none;
  const auto& extra = job.extra ? *job.extra : none;
  DeadPayload dead{kinds_[job.kind]->name,
                   std::string(job.key()),
                   std::string(job.id()),
                   dying.bytes.present() ? std::string(dying.bytes.view()) : std::string{},
                   dying.score,
                   extra.options,
                   extra.retry_count,
                   extra.crashes,
                   kind,
                   std::string(cut(error))};
  JobView view{
      options_.name, dead.kind,        dead.key,     dead.id,   JobStatus::dead, {{dead.payload, dead.score}},
      now,           dead.retry_count, dead.crashes, dead.error};
  if (extra.foreign) {
    for (const auto& [seq, fields] : extra.foreign->entry_fields) {
      if (seq == dying.seq) dead.entry_fields = fields;
    }
  }
  dying_.push_back(std::move(view));
  if (watched_) emit(EventType::job_dead, job, now, {}, dead.error);
  changes_.dead.push_back(std::move(dead));
}

void Shard::finish(Job& job) {
  for (const auto& piece : job.payloads.pieces()) changes_.erase.push_back(piece.seq);
  leave_run(job);
}

// For good.
void Shard::leave_run(Job& job) {
  if (job.extra) {
    auto& extra = *job.extra;
    if (extra.state_seq != 0) changes_.erase_states.push_back(extra.state_seq);
    if (extra.cancel_seq != 0 && --cancels_.at(extra.cancel_seq) == 0) {
      cancels_.erase(extra.cancel_seq);
      changes_.erase.push_back(extra.cancel_seq);
    }
    clean(job);
  }
  job.place = Place::ending;
  --running_;
  ended_.push_back(&job);
}

// What was pushed while the job ran is one with it: run_at and retry_count are the ones of this job.
void Shard::join_beside(Job& job) {
  Job* beside = table_.find_queued(job.kind, job.id(), job.key());
  if (beside == nullptr) return;
  auto& extra = job.more();
  extra.through = std::max(extra.through, beside->through());
  if (beside->extra) {
    extra.options.merge_later(beside->extra->options);
    extra.scores.insert(beside->extra->scores.begin(), beside->extra->scores.end());
    if (beside->extra->state_seq != 0) changes_.erase_states.push_back(beside->extra->state_seq);
    if (beside->extra->foreign) {
      auto& fields = beside->extra->foreign->entry_fields;
      auto& all = extra.more().entry_fields;
      all.insert(all.end(), fields.begin(), fields.end());
    }
  }
  leave_place(*beside);
  for (auto& piece : beside->payloads.take_all()) add_piece(job, std::move(piece));
  --queued_;
  forget(*beside);
  set_priority(job);
  dirty(job);
}

void Shard::go_back(Job& job, Time now, bool held) {
  join_beside(job);
  job.held = held;
  set_aside(job, now);
  leave_bytes(job, now);
  table_.deactivate(job);
  --running_;
  ++queued_;
  settle(job);
  dirty(job);
}

// Without room for what it was given to run, the store keeps it.
void Shard::leave_bytes(Job& job, Time now) {
  if (!budget_.has_room(0, job.run_at <= now)) job.payloads.forget_bytes();
}

// It may start again once what is to be written of it is durable.
void Shard::settle(Job& job) {
  job.place = Place::settling;
  job.more().settling_at = static_cast<std::uint32_t>(settling_.size());
  settling_.push_back(&job);
}

void Shard::emit(EventType type, const Job& job, Time now, Duration took, std::string error) {
  Event event;
  event.type = type;
  event.queue = options_.name;
  event.kind = kinds_[job.kind]->name;
  event.id = job.id();
  event.at = now;
  event.took = took;
  event.error = std::move(error);
  events_.push_back(std::move(event));
}

}  // namespace ordo::domain
