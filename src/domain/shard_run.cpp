// A run's start: which jobs it takes, and what it is given.
#include <algorithm>
#include <unordered_set>

#include "base/assert.h"
#include "base/saturate.h"
#include "domain/due.h"
#include "domain/shard.h"
#include "domain/wait_note.h"

namespace ordo::domain {
namespace {

// Of a batch.
bool runs_alone(const Job& job) { return job.extra && job.extra->alone; }

constexpr std::size_t kPassedOver = 256;  // jobs that a batch cannot take, before it starts without more

}  // namespace

Shard::Taken Shard::take(Time now, const Admission& admission, Run& run) {
  Job* first = next_admitted(now, admission);
  if (first == nullptr) return Taken::none;
  auto started = start(*first, now);
  if (!started) return Taken::pending;
  run = std::move(*started);
  return Taken::ready;
}

std::optional<Run> Shard::start(Job& first, Time now) {
  if (first.place == Place::awaiting) return start_response(first, now);
  auto& lane = order_.lane(first);
  auto& active = runs_.open(first.risk, now);
  const RunNo no = runs_.last();
  const auto& rules = kinds_[first.kind].rules;
  const std::size_t limit = active.risk == Risk::suspect || rules.finish_by || runs_alone(first)
                                ? 1
                                : std::max(rules.batch_size, 1U);
  const bool frees = waits_for_rows(first);  // those would hold up the others
  std::unordered_set<std::string_view> ids;
  std::size_t passed_over = 0;
  for (auto next = lane.from(first); next != lane.end() && active.jobs.size() < limit;) {
    Job& job = *next++;
    const bool may_start = (limit == 1 || !runs_alone(job)) && waits_for_rows(job) == frees &&
                           order_.may_start(job, now) && (limit == 1 || ids.insert(job.id()).second) &&
                           (&job == &first || throttler_admits(job, now));
    if (may_start) {
      join(active, job, now);
    } else if (++passed_over == kPassedOver) {
      break;
    }
  }
  const bool is_freeing = frees_rows(active);
  if (!is_freeing && active.risk == Risk::normal && !must_be_written(active)) {
    auto run = describe(no);
    if (!run.missing.empty()) postpone_starts(active);
    return run;
  }
  postpone_starts(active);
  if (is_freeing) return std::nullopt;
  active.marking = true;
  changes_.mark(no);
  return std::nullopt;
}

// The job has its key from here to a durable end.
void Shard::activate(Job& job) {
  forget_expiry(job);
  job.place = Place::running;
  table_.activate(job);
}

void Shard::join(ActiveRun& active, Job& job, Time now) {
  order_.leave(job);
  activate(job);
  take_slots(job, now, /*goes_on=*/false);
  take_lock(job);
  if (job.waits() != nullptr) job.waits()->awaits = {};  // its last payload was not there to say so
  active.jobs.push_back(&job);
  job.was_held = job.held;
  // Another may sort before this one after a crash: a job that waits for its time, or, as times are read
  // anew, one that came.
  if (job.in_line && (order_.mixes_priorities() || job.own_time) && !job.held) {
    job.held = true;
    changes_.write_state(job);
  }
  if (active.risk != Risk::normal) {
    job.more().mark = active.risk == Risk::suspect ? Mark::alone : Mark::shared;
    changes_.write_state(job);
  }
}

void Shard::share(RunNo no) {
  auto& active = runs_.at(no);
  active.shares = true;
  for (Job* job : active.jobs) {
    job->more().mark = Mark::shared;
    changes_.write_state(*job);
  }
  if (active.lent) changes_.note_lent();  // its borrower reads it there
  changes_.share(no);
}

void Shard::started(RunNo no) {
  auto& active = runs_.at(no);
  if (std::exchange(active.told, true) || !watched_) return;
  for (const Job* job : active.jobs) {
    auto& told = emit(EventType::job_started, *job, active.started);
    // The run of a response goes on with a job that started long ago.
    if (active.response == 0)
      told.waited = std::max(Duration{0}, active.started - due_at(*job, active.started));
  }
}

BatchJob Shard::deliver(const Job& job) const {
  BatchJob delivered{std::string(job.id()), std::string(job.key()), {}, job.retry_count(), 0};
  const auto chosen = domain::delivered(job.payloads.pieces(), kinds_[job.kind].rules.payloads);
  delivered.payloads.reserve(chosen.size());
  for (const auto& piece : chosen)
    delivered.payloads.push_back({std::string(piece.bytes.view()), piece.score});
  return delivered;
}

// A clock that was put back leaves a run none of it: it has its timeout then.
Duration Shard::left_of_window(const Job& job, Time started) {
  const auto span = order_.opening(job, started);
  return span && span->from <= started ? saturating_sub(span->until, started) : Duration::max();
}

Run Shard::describe(RunNo no) {
  const auto& active = runs_.at(no);
  Run run;
  run.no = no;
  run.risk = active.risk;
  const auto& kind = kinds_[active.jobs.front()->kind];
  run.kind = kind.name;
  run.timeout = Duration::max();
  run.jobs.reserve(active.jobs.size());
  for (const Job* job : active.jobs) {
    const auto own = job->extra ? job->extra->options.timeout : std::nullopt;
    run.timeout = std::min(run.timeout, own.value_or(kind.rules.timeout));
    if (kind.rules.finish_by && active.response == 0)
      run.timeout = std::min(run.timeout, left_of_window(*job, active.started));
    for (const auto& piece : job->payloads.pieces()) {
      if (!piece.bytes.present()) run.missing.push_back(piece.seq);
    }
  }
  auto* answered = active.response != 0 ? active.jobs.front()->waits()->answered() : nullptr;
  if (answered != nullptr && !answered->body.present()) run.missing.push_back(answered->response);
  if (run.missing.empty()) {
    for (const Job* job : active.jobs) run.jobs.push_back(deliver(*job));
    if (answered != nullptr)
      run.jobs.front().response =
          Response{answered->key, std::string(answered->body.view()), answered->message_id};
  } else {
    std::sort(run.missing.begin(), run.missing.end());
  }
  return run;
}

bool Shard::may_still_start(Run& run, Time now) {
  if (runs_.at(run.no).response != 0) return true;
  for (const Job* job : runs_.at(run.no).jobs) {
    const auto span = order_.opening(*job, now);
    if (!span || span->from > now) return false;
    if (kinds_[job->kind].rules.finish_by)
      run.timeout = std::min(run.timeout, saturating_sub(span->until, now));
  }
  return true;
}

// False: it is missing still.
bool Shard::provide_response(ActiveRun& active, const FindBytes& find) {
  if (active.response == 0) return true;
  auto* answered = active.jobs.front()->waits()->answered();
  if (answered == nullptr || answered->body.present()) return true;
  if (const auto bytes = find(answered->response)) {
    if (const auto note = decode_wait_note(*bytes)) answered->body = CachedBytes(note->body, budget_);
  }
  return answered->body.present();
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
  return provide_response(runs_.at(no), find) && complete;
}

void Shard::fill(Run& run, Time now) {
  auto& active = runs_.at(run.no);
  start_postponed(active, now);
  for (Job* job : active.jobs) {
    const auto duplicates = job->payloads.merge_duplicates(equal_payloads_of(kinds_[job->kind].rules));
    for (const auto& merged : duplicates) note_merged(*job, merged);
    // The entry that goes may be the one that brought the options, or said that it never expires.
    if (!duplicates.empty() && job->extra) changes_.write_state(*job);
  }
  run = describe(run.no);
  ORDO_ASSERT(run.missing.empty());
}

Event& Shard::emit(EventType type, const Job& job, Time now, Duration took, std::string error) {
  auto& event = events_.emplace_back();
  event.type = type;
  event.queue = kinds_.queue().name;
  event.kind = kinds_[job.kind].name;
  event.id = job.id();
  event.key = job.key();
  event.at = now;
  event.took = took;
  event.error = std::move(error);
  event.attempt = std::int64_t{job.retry_count()} + 2;
  return event;
}

}  // namespace ordo::domain
