// Who is next: moves jobs between `later`, `due` and their key's line. What a run does to them is in
// shard_run.cpp.
#include <algorithm>

#include "base/assert.h"
#include "base/saturate.h"
#include "domain/shard.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kListedRuns = 100;
constexpr Duration kLongWait = std::chrono::minutes{1};
constexpr std::size_t kSmall = 2048;  // bytes of a payload

}  // namespace

void Shard::promote(Time now) {
  while (!later_.empty() && later_.begin()->run_at <= now) {
    Job& job = *later_.begin();
    later_.erase(later_.begin());
    if (job.retry_count() >= 0) --retrying_;
    job.place = Place::nowhere;
    arrive_due(job, now);
  }
}

void Shard::set_time(Job& job, Time run_at) {
  job.run_at = run_at;
  job.own_time = true;
}

void Shard::place(Job& job, Time now) {
  job.place = Place::nowhere;
  if (job.run_at <= now) {
    arrive_due(job, now);
  } else {
    job.place = Place::later;
    set_aside(job, now);
    later_.insert(later_.end(), job);
    if (job.retry_count() >= 0) ++retrying_;
    if (Line* line = table_.line_of(job); line != nullptr && job.held && line->front != &job) {
      if (line->front != nullptr) park(*line, *line->front);
      line->front = &job;
    }
  }
  protect_front(job);
}

// Not one that is due and only stands in line: it may be gone in a moment.
void Shard::set_aside(Job& job, Time now) {
  if (!sets_aside_ || job.set_aside || saturating_sub(job.run_at, now) <= kLongWait) return;
  job.set_aside = true;
  for (const auto& piece : job.payloads.pieces()) {
    if (keeps_room(piece)) changes_.set_aside.push_back(piece.seq);
  }
}

// A large entry has no neighbours, and is long to move.
bool Shard::keeps_room(const Piece& piece) {
  return !piece.bytes.present() || piece.bytes.view().size() <= kSmall;
}

void Shard::arrive_due(Job& job, Time now) {
  Line* line = table_.line_of(job);
  if (line != nullptr && line->front != &job && line->front != nullptr) {
    const Job& front = *line->front;
    const bool displaces = front.place == Place::due && !front.held && (job.held || before_(job, front));
    if (!displaces) {
      park(*line, job);
      return;
    }
    park(*line, *line->front);
  }
  if (line != nullptr) line->front = &job;
  insert_due(job, now);
}

void Shard::insert_due(Job& job, Time now) {
  job.place = Place::due;
  job.risk = risk_of(job, now);
  due_set(job).insert(job);
}

// Behind the front of its key; from `due` or from nowhere.
void Shard::park(Line& line, Job& job) {
  if (job.place == Place::due) due_set(job).erase(job);
  job.place = Place::parked;
  line.parked.insert(&job);
  parked_times_.emplace(job.run_at, job.arrival());
}

// It leaves its place to run, whoever would be first by the rules.
void Shard::take_key(Job& job) {
  leave_place(job);
  Line* line = table_.line_of(job);
  if (line == nullptr || line->front == &job) return;
  if (line->front != nullptr) park(*line, *line->front);
  line->front = &job;
}

// A queued job leaves its order; its key goes on to the next only by release_front().
void Shard::leave_place(Job& job) {
  switch (job.place) {
    case Place::later:
      later_.erase(later_.iterator_to(job));
      if (job.retry_count() >= 0) --retrying_;
      break;
    case Place::due:
      due_set(job).erase(job);
      break;
    case Place::parked:
      table_.line_of(job)->parked.erase(&job);
      parked_times_.erase({job.run_at, job.arrival()});
      break;
    case Place::settling: {
      const auto at = job.extra->settling_at;
      auto& list = at < settling_.size() && settling_[at] == &job ? settling_ : settling_in_flight_;
      list.back()->extra->settling_at = at;
      list[at] = list.back();
      list.pop_back();
      break;
    }
    case Place::nowhere:
    case Place::running:
    case Place::ending:
      ORDO_ASSERT(false);
  }
  job.place = Place::nowhere;
}

void Shard::release_front(Job& job, Time now) {
  Line* line = table_.line_of(job);
  if (line == nullptr || line->front != &job) return;
  line->front = nullptr;
  if (line->parked.empty()) return;
  Job& next = **line->parked.begin();
  leave_place(next);
  line->front = &next;
  insert_due(next, now);
}

// After a crash the running job of the key must still come before `newcomer`, whatever their order says, or will
// say to whom times are told anew.
void Shard::protect_front(const Job& newcomer) {
  const Line* line = table_.line_of(newcomer);
  if (line == nullptr || line->active == nullptr || line->active->place != Place::running) return;
  Job& active = *line->active;
  if (active.held || active.is(newcomer.kind, newcomer.id())) return;
  if (!active.own_time && !before_(newcomer, active)) return;
  active.held = true;
  dirty(active);
}

Risk Shard::risk_of(const Job& job, Time now) const {
  if (job.extra && job.extra->crashes > 0 && now - job.extra->last_crash < kCrashMemory) return Risk::suspect;
  return job.arrival() <= witness_through_ ? Risk::witness : Risk::normal;
}

void Shard::set_priority(Job& job) {
  job.priority = job.extra ? job.extra->options.priority.value_or(100) : 100;
  if (job.priority == 100 || std::exchange(mixed_priorities_, true)) return;
  for (auto& kind : kinds_) {
    for (auto& due : kind->due) due.mix();
  }
}

template <class Visit>
void Shard::each_admitted(const Admission& admission, Visit visit) {
  for (const auto& kind : kinds_) {
    if (!admission.admits(kind->name, kind->served)) continue;
    for (const auto risk : {Risk::normal, Risk::witness, Risk::suspect}) {
      if (risk == Risk::normal && !admission.normal) continue;
      if (risk == Risk::witness && !admission.witnesses) continue;
      if (risk == Risk::suspect && !admission.suspects) continue;
      auto& due = kind->due[static_cast<std::size_t>(risk)];
      if (!due.empty()) visit(due);
    }
  }
}

Job* Shard::best_due(Time now, const Admission& admission) {
  promote(now);
  while (true) {
    Job* best = nullptr;
    each_admitted(admission, [&](DueJobs& due) {
      if (best == nullptr || before_(due.first(), *best)) best = &due.first();
    });
    if (best == nullptr || best->run_at <= now) return best;
    // The clock went back: nothing starts early.
    leave_place(*best);
    if (!best->held) release_front(*best, now);
    place(*best, now);
  }
}

std::optional<Time> Shard::oldest_due(Time now, const Admission& admission) {
  if (best_due(now, admission) == nullptr) return std::nullopt;
  Time oldest = Time::max();
  each_admitted(admission, [&](const DueJobs& due) { oldest = std::min(oldest, due.oldest()); });
  return oldest;
}

std::optional<Time> Shard::next_due() const {
  return later_.empty() ? std::nullopt : std::optional(later_.begin()->run_at);
}

Counts Shard::counts(Time now) {
  Counts counts;
  std::size_t later = later_.size(), retrying = retrying_;
  Time oldest = later_.empty() ? Time::max() : later_.begin()->run_at;
  if (!parked_times_.empty()) oldest = std::min(oldest, parked_times_.begin()->first);
  for (const auto* list : {&settling_, &settling_in_flight_}) {
    for (const Job* job : *list) {
      oldest = std::min(oldest, job->run_at);
      if (job->run_at <= now) continue;
      ++later;
      if (job->retry_count() >= 0) ++retrying;
    }
  }
  counts.due = queued_ - later;
  counts.scheduled = later - retrying;
  counts.retrying = retrying;
  counts.running = running_;
  counts.processed = processed_;
  counts.failed = failed_;
  counts.copied = copied_;
  counts.unreadable = unreadable_;
  counts.fields = counts_fields_;
  for (const auto& kind : kinds_) {
    for (const auto& due : kind->due) {
      if (!due.empty()) oldest = std::min(oldest, due.oldest());
    }
  }
  counts.oldest = oldest;
  for (const auto& [no, active] : runs_) {
    for (const Job* job : active.jobs) {
      if (counts.running_now.size() < kListedRuns) counts.running_now.push_back(job->payloads.last());
    }
  }
  std::sort(counts.running_now.begin(), counts.running_now.end());
  if (lent_ > 0) counts.lent = lent_runs();
  if (fence_ != takeover_.token) counts.fence = fence_;
  return counts;
}

}  // namespace ordo::domain
