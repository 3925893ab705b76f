#include "domain/job_order.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "domain/due.h"
#include "domain/throttle.h"

namespace ordo::domain {

void JobOrder::clear() {
  gated_.reset();
  refused_.clear();
  parked_.clear();
  later_.clear();
  for (auto& lanes : lanes_) {
    for (auto& lane : *lanes) lane.clear();
  }
}

void JobOrder::hold_to(Gates& gates, Group& group, ShardId shard) {
  if (gated_) return;
  gated_ = std::make_unique<GatedLanes>(before_, kinds_, gates, group, shard);
  throttle_ = group.throttle.get();
  shard_ = shard;
  if (mixed_priorities_) gated_->mix();
}

void JobOrder::mix_priorities() {
  if (std::exchange(mixed_priorities_, true)) return;
  if (gated_) gated_->mix();
  parked_.mix();
  for (auto& lanes : lanes_) {
    for (auto& lane : *lanes) lane.mix();
  }
}

void JobOrder::place(Job& job, Time now) {
  ORDO_ASSERT(job.place == Place::nowhere);
  if (is_due(job, now)) {
    arrive(job, now);
    return;
  }
  job.place = Place::later;
  later_.insert(later_.end(), job);
  if (job.retry_count() >= 0) {
    ++retrying_;
    ++count_of(job).retrying;
  }
  keep_key(job);
}

// Who waits and has started before has its key meanwhile.
void JobOrder::keep_key(Job& job) {
  Line* line = keys_.line_of(job);
  if (line == nullptr || !job.held || line->front == &job) return;
  if (line->front != nullptr) park(*line, *line->front);
  line->front = &job;
}

void JobOrder::leave(Job& job) {
  switch (job.place) {
    case Place::later:
      later_.erase(later_.iterator_to(job));
      if (job.retry_count() >= 0) {
        --retrying_;
        --count_of(job).retrying;
      }
      break;
    case Place::closed:
      closed_.erase(&job);
      break;
    case Place::skipped:
    case Place::deferred:
      refused_.erase(job);
      break;
    case Place::due:
    case Place::locked:
      take_out(job);
      break;
    case Place::parked:
      keys_.line_of(job)->parked.erase(&job);
      parked_.erase(job);
      break;
    case Place::expired:
    case Place::settling:
    case Place::nowhere:
    case Place::running:
    case Place::awaiting:
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
  if (now < shut_at_) {  // the clock went back: the openings were looked for too late
    shut_at_ = now;
    const std::vector<Job*> all(closed_.begin(), closed_.end());
    for (Job* job : all) {
      leave(*job);
      place(*job, now);
    }
  }
  while (!closed_.empty() && (*closed_.begin())->extra->opens <= now) {
    Job& job = **closed_.begin();
    leave(job);
    place(job, now);
  }
  while (Job* job = refused_.next_deferred(now)) {
    leave(*job);
    place(*job, now);
  }
}

// ------------------------------------------------------------------------------------------ the throttler

void JobOrder::skip(Job& job, Time now) {
  leave(job);
  refused_.skip(job, now, throttle_->ends());
  throttle_->note_skipped(shard_);
}

void JobOrder::defer(Job& job, Time until, Time now) {
  leave(job);
  if (!job.held) pass_key(job, now);
  refused_.defer(job, until);
}

// Once all others of those that may start were asked for: those that are skipped again and again hide nobody.
bool JobOrder::ask_again(Time now, const Admission& admission) {
  if (throttle_ == nullptr) return false;
  const auto admits = [&](std::uint16_t number, Risk risk) {
    const auto& kind = kinds_[number];
    return admission.admits(kind.name, kind.served) && admission.admits(risk);
  };
  Job* job = refused_.first_to_ask(now, throttle_->ends(), admits);
  const bool comes_back = job != nullptr && throttle_->may_ask_again(shard_);
  if (comes_back) {
    leave(*job);
    // The clock went back, or its window has closed.
    if (!job->held && !is_in_time(*job, now)) pass_key(*job, now);
    place(*job, now);
  }
  if (refused_.has_skipped()) throttle_->note_skipped(shard_);
  return comes_back;
}

// -------------------------------------------------------------------------------------------------- windows

WindowClock& JobOrder::windows_of(std::uint16_t kind) {
  while (windows_.size() <= kind) {
    const auto& rules = kinds_[static_cast<std::uint16_t>(windows_.size())].rules;
    windows_.emplace_back(Windows::of(rules.windows).value_or(Windows{}), rules.min_remaining);
  }
  return windows_[kind];
}

bool JobOrder::is_bound(const Job& job) {
  if (job.extra && job.extra->windows) return true;
  return kinds_.have_own_windows() && !windows_of(job.kind).windows().empty();
}

bool JobOrder::has_closed_lanes(Time now) {
  if (kinds_.have_own_windows() || !has_due()) return false;
  const auto opening = windows_of(0).at(now);
  return !opening || opening->from > now;
}

std::optional<Span> JobOrder::opening(const Job& job, Time now) {
  auto& of_kind = windows_of(job.kind);
  if (!job.extra || !job.extra->windows) return of_kind.at(now);
  auto& own = *job.extra->windows;
  if (!own.known) return std::nullopt;
  const auto least = kinds_[job.kind].rules.min_remaining;
  const bool is_over = own.span && (now >= own.span->until || own.span->until - now < least);
  if (!own.asked || now < *own.asked || is_over) {
    own.asked = now;
    own.span =
        next_opening(std::array{&of_kind.windows(), std::as_const(own.known).operator->()}, now, least);
  }
  return own.span;
}

bool JobOrder::may_start(const Job& job, Time now) {
  return is_in_time(job, now) && (job.demand == nullptr || gated_->admits(job, now));
}

bool JobOrder::is_in_time(const Job& job, Time now) {
  if (!is_due(job, now)) return false;
  if (!is_bound(job)) return true;
  const auto span = opening(job, now);
  return span && span->from <= now;
}

// Its windows are closed: it waits as one whose time has not come.
void JobOrder::shut(Job& job, const std::optional<Span>& opening, Time now) {
  job.more().opens = opening ? opening->from : Time::max();
  job.place = Place::closed;
  closed_.insert(&job);
  shut_at_ = std::max(shut_at_, now);
  if (opening) {
    keep_key(job);
  } else {
    pass_key(job, now);  // who can never start holds up nobody
  }
}

// ----------------------------------------------------------------------------------------------- the choice

void JobOrder::arrive(Job& job, Time now) {
  if (is_bound(job)) {
    const auto span = opening(job, now);
    if (!span || span->from > now) {
      shut(job, span, now);
      return;
    }
  }
  Line* line = keys_.line_of(job);
  if (line != nullptr && line->front != &job && line->front != nullptr) {
    const Job& front = *line->front;
    const bool waits =
        front.place == Place::due || front.place == Place::locked || front.place == Place::skipped;
    const bool displaces = waits && !front.held && (job.held || before_(job, front));
    if (!displaces) {
      park(*line, job);
      return;
    }
    park(*line, *line->front);
  }
  if (line != nullptr) line->front = &job;
  insert(job, now);
}

JobOrder::OfKind& JobOrder::count_of(const Job& job) {
  if (by_kind_.size() <= job.kind) by_kind_.resize(job.kind + 1U);
  return by_kind_[job.kind];
}

void JobOrder::insert(Job& job, Time now) {
  job.place = Place::due;
  ++count_of(job).due;
  job.risk = risk_of(job, now);
  if (job.demand != nullptr) return gated_->insert(job);
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
  --count_of(job).due;
  if (job.demand != nullptr) return gated_->erase(job);
  lane(job).erase(job);
  const auto& lanes = *lanes_[job.kind];
  if (std::ranges::all_of(lanes, &DueJobs::empty)) busy_.erase(job.kind);
}

// Behind the front of its key; from its lane or from nowhere.
void JobOrder::park(Line& line, Job& job) {
  const bool waits_for_time = job.place == Place::later || job.place == Place::closed;
  const bool is_refused = job.place == Place::skipped || job.place == Place::deferred;
  if (job.place == Place::due || job.place == Place::locked) take_out(job);
  if (waits_for_time || is_refused) leave(job);
  job.place = Place::parked;
  line.parked.insert(&job);
  parked_.insert(job);
}

Risk JobOrder::risk_of(const Job& job, Time now) const {
  if (job.extra && job.extra->is_suspect(now)) return Risk::suspect;
  return job.arrival() <= witness_through_ ? Risk::witness : Risk::normal;
}

std::size_t JobOrder::refused(const MarkedCompany& company, Time now) {
  if (company.admits_all() || has_closed_lanes(now)) return 0;
  std::size_t jobs = gated_ ? gated_->refused(company) : 0;
  for (const auto number : busy_) {
    if (!kinds_[number].served) continue;
    for (const auto risk : {Risk::witness, Risk::suspect}) {
      if (!company.admits(risk)) jobs += (*lanes_[number])[static_cast<std::size_t>(risk)].size();
    }
  }
  return jobs;
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
    if (has_closed_lanes(now)) {
      keep_no_room();
      return nullptr;
    }
    Job* best = nullptr;
    each_admitted(admission, [&](DueJobs& lane) {
      if (best == nullptr || before_(lane.first(), *best)) best = &lane.first();
    });
    Job* gated = gated_ ? gated_->best(now, admission) : nullptr;
    if (gated != nullptr && (best == nullptr || before_(*gated, *best))) best = gated;
    if (best == nullptr && ask_again(now, admission)) continue;
    if (best == nullptr || is_in_time(*best, now)) return best;
    // The clock went back, or its window has closed.
    leave(*best);
    if (!best->held) pass_key(*best, now);
    place(*best, now);
  }
}

std::optional<Time> JobOrder::due_since(Time now, const Admission& admission) {
  const Job* first = best(now, admission);
  if (first == nullptr) return std::nullopt;
  Time since = first->run_at;  // of those that are held to limits
  each_admitted(admission, [&](const DueJobs& lane) { since = std::min(since, lane.oldest()); });
  since = std::min(since, now);
  const auto open = windows_of(0).at(now);
  return kinds_.have_own_windows() || !open ? since : std::max(since, open->from);
}

std::optional<Time> JobOrder::next_due(Time now) {
  auto next = later_.empty() ? Time::max() : later_.begin()->run_at;
  if (!closed_.empty()) next = std::min(next, (*closed_.begin())->extra->opens);
  next = std::min(next, refused_.next_time());
  if (gated_) next = std::min(next, gated_->next_opening().value_or(Time::max()));
  if (has_closed_lanes(now)) {
    const auto opening = windows_of(0).at(now);
    if (opening) next = std::min(next, opening->from);
  }
  return next == Time::max() ? std::nullopt : std::optional(next);
}

// What is closed is due at its opening.
Time JobOrder::oldest(Time now) {
  Time oldest = refused_.times().oldest();
  if (!parked_.empty()) oldest = std::min(oldest, parked_.oldest());
  for (const auto kind : busy_) {
    for (const auto& lane : *lanes_[kind]) {
      if (!lane.empty()) oldest = std::min(oldest, lane.oldest());
    }
  }
  if (gated_) oldest = std::min(oldest, gated_->oldest());
  if (oldest != Time::max()) oldest = std::min(oldest, now);
  if (has_due() && !kinds_.have_own_windows()) {
    const auto opening = windows_of(0).at(now);
    oldest = opening ? std::max(oldest, opening->from) : Time::max();
  }
  if (!later_.empty()) oldest = std::min(oldest, later_.begin()->run_at);
  if (!closed_.empty()) oldest = std::min(oldest, (*closed_.begin())->extra->opens);
  return oldest;
}

std::map<std::int32_t, Time> JobOrder::oldest_due(Time now, std::size_t most) {
  std::map<std::int32_t, Time> due;
  if (has_closed_lanes(now)) return due;
  auto opened = Time::min();
  if (has_due() && !kinds_.have_own_windows()) opened = windows_of(0).at(now)->from;
  const auto see = [&](std::int32_t priority, Time run_at) {
    auto& since = due.try_emplace(priority, Time::max()).first->second;
    since = std::min(since, std::max(std::min(run_at, now), opened));
  };
  parked_.each_oldest(see);
  refused_.times().each(see);
  if (gated_) gated_->each_oldest(see);
  for (const auto kind : busy_) {
    for (const auto& lane : *lanes_[kind]) lane.each_oldest(see);
  }
  if (due.size() <= most) return due;
  std::vector<std::pair<Time, std::int32_t>> longest;
  for (const auto& [priority, since] : due) longest.emplace_back(since, priority);
  std::ranges::nth_element(longest, longest.begin() + static_cast<std::ptrdiff_t>(most));
  due.clear();
  for (std::size_t i = 0; i < most; ++i) due.emplace(longest[i].second, longest[i].first);
  return due;
}

}  // namespace ordo::domain
