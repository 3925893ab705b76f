#include "domain/job_order.h"

#include <algorithm>

#include "base/assert.h"

namespace ordo::domain {

JobOrder::~JobOrder() {
  later_.clear();
  for (auto& lanes : lanes_) {
    for (auto& lane : *lanes) lane.clear();
  }
}

void JobOrder::mix_priorities() {
  if (std::exchange(mixed_priorities_, true)) return;
  for (auto& lanes : lanes_) {
    for (auto& lane : *lanes) lane.mix();
  }
}

void JobOrder::place(Job& job, Time now) {
  ORDO_ASSERT(job.place == Place::nowhere);
  if (job.run_at <= now) {
    arrive(job, now);
    return;
  }
  job.place = Place::later;
  later_.insert(later_.end(), job);
  if (job.retry_count() >= 0) ++retrying_;
  if (Line* line = keys_.line_of(job); line != nullptr && job.held && line->front != &job) {
    if (line->front != nullptr) park(*line, *line->front);
    line->front = &job;
  }
}

void JobOrder::leave(Job& job) {
  switch (job.place) {
    case Place::later:
      later_.erase(later_.iterator_to(job));
      if (job.retry_count() >= 0) --retrying_;
      break;
    case Place::due:
      take_out(job);
      break;
    case Place::parked:
      keys_.line_of(job)->parked.erase(&job);
      parked_times_.erase({job.run_at, job.arrival()});
      break;
    case Place::settling:
    case Place::nowhere:
    case Place::running:
    case Place::ending:
      ORDO_ASSERT(false);
  }
  job.place = Place::nowhere;
}

void JobOrder::take_key(Job& job) {
  leave(job);
  Line* line = keys_.line_of(job);
  if (line == nullptr || line->front == &job) return;
  if (line->front != nullptr) park(*line, *line->front);
  line->front = &job;
}

void JobOrder::pass_key(Job& job, Time now) {
  Line* line = keys_.line_of(job);
  if (line == nullptr || line->front != &job) return;
  line->front = nullptr;
  if (line->parked.empty()) return;
  Job& next = **line->parked.begin();
  leave(next);
  line->front = &next;
  insert(next, now);
}

void JobOrder::promote(Time now) {
  while (!later_.empty() && later_.begin()->run_at <= now) {
    Job& job = *later_.begin();
    leave(job);
    arrive(job, now);
  }
}

void JobOrder::arrive(Job& job, Time now) {
  Line* line = keys_.line_of(job);
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
  insert(job, now);
}

void JobOrder::insert(Job& job, Time now) {
  job.place = Place::due;
  job.risk = risk_of(job, now);
  while (lanes_.size() <= job.kind) {
    lanes_.push_back(std::make_unique<Lanes>(Lanes{DueJobs(before_), DueJobs(before_), DueJobs(before_)}));
    if (mixed_priorities_) {
      for (auto& lane : *lanes_.back()) lane.mix();
    }
  }
  auto& to = lane(job);
  busy_.insert(job.kind);
  to.insert(job);
}

void JobOrder::take_out(Job& job) {
  lane(job).erase(job);
  const auto& lanes = *lanes_[job.kind];
  if (std::ranges::all_of(lanes, &DueJobs::empty)) busy_.erase(job.kind);
}

// Behind the front of its key; from its lane or from nowhere.
void JobOrder::park(Line& line, Job& job) {
  if (job.place == Place::due) take_out(job);
  job.place = Place::parked;
  line.parked.insert(&job);
  parked_times_.emplace(job.run_at, job.arrival());
}

Risk JobOrder::risk_of(const Job& job, Time now) const {
  if (job.extra && job.extra->crashes > 0 && now - job.extra->last_crash < kCrashMemory) return Risk::suspect;
  return job.arrival() <= witness_through_ ? Risk::witness : Risk::normal;
}

template <class Visit>
void JobOrder::each_admitted(const Admission& admission, Visit visit) {
  for (const auto number : busy_) {
    const auto& kind = kinds_[number];
    if (!admission.admits(kind.name, kind.served)) continue;
    for (const auto risk : {Risk::normal, Risk::witness, Risk::suspect}) {
      auto& lane = (*lanes_[number])[static_cast<std::size_t>(risk)];
      if (!lane.empty() && admission.admits(risk)) visit(lane);
    }
  }
}

Job* JobOrder::best(Time now, const Admission& admission) {
  promote(now);
  while (true) {
    Job* best = nullptr;
    each_admitted(admission, [&](DueJobs& lane) {
      if (best == nullptr || before_(lane.first(), *best)) best = &lane.first();
    });
    if (best == nullptr || best->run_at <= now) return best;
    // The clock went back: nothing starts early.
    leave(*best);
    if (!best->held) pass_key(*best, now);
    place(*best, now);
  }
}

std::optional<Time> JobOrder::due_since(Time now, const Admission& admission) {
  if (best(now, admission) == nullptr) return std::nullopt;
  Time since = Time::max();
  each_admitted(admission, [&](const DueJobs& lane) { since = std::min(since, lane.oldest()); });
  return since;
}

std::optional<Time> JobOrder::next_due() const {
  return later_.empty() ? std::nullopt : std::optional(later_.begin()->run_at);
}

Time JobOrder::oldest() const {
  Time oldest = later_.empty() ? Time::max() : later_.begin()->run_at;
  if (!parked_times_.empty()) oldest = std::min(oldest, parked_times_.begin()->first);
  for (const auto kind : busy_) {
    for (const auto& lane : *lanes_[kind]) {
      if (!lane.empty()) oldest = std::min(oldest, lane.oldest());
    }
  }
  return oldest;
}

}  // namespace ordo::domain
