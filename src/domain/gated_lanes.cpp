#include "domain/gated_lanes.h"

#include <algorithm>

#include "base/assert.h"
#include "base/saturate.h"

namespace ordo::domain {

bool LaneByHead::operator()(const Lane* a, const Lane* b) const {
  const Job &first = a->jobs.first(), &other = b->jobs.first();
  return before(first, other) || (!before(other, first) && a < b);
}

bool LaneByTurn::operator()(const Lane* a, const Lane* b) const {
  if (by_turns) {
    const auto mine = a->jobs.first().priority, others = b->jobs.first().priority;
    if (mine != others) return mine < others;
    if (a->turn != b->turn) return a->turn < b->turn;
  }
  return head(a, b);
}

GatedLanes::GatedLanes(DueBefore before, const KindTable& kinds, Gates& gates, Group& group, ShardId shard)
    : before_(before),
      kinds_(kinds),
      gates_(gates),
      group_(group),
      shard_(shard),
      open_(LaneByHead{before}) {}

GatedLanes::~GatedLanes() {
  for (auto& [lock, jobs] : waiting_) lock->waiters.erase(this);
  for (auto& [key, lane] : lanes_) {
    forget_passed(*lane);
    for (auto left = lane->jobs.size(); left > 0; --left) gates_.note_due(*lane->claim, -1);
    lane->jobs.clear();
    gates_.drop(*lane->claim);
  }
  gates_.forget(*this);
}

void GatedLanes::mix() {
  mixed_ = true;
  for (auto& [key, lane] : lanes_) lane->jobs.mix();
}

// -----------------------------------------------------------------------------------------------------
// places

Lane& GatedLanes::lane_for(const Job& job) {
  auto& lane = lanes_[key_of(job)];
  if (!lane) {
    lane = std::make_unique<Lane>(job.kind, job.risk, *job.demand->claim, before_);
    gates_.use(*lane->claim);
    if (mixed_) lane->jobs.mix();
  }
  return *lane;
}

DueJobs& GatedLanes::lane_of(const Job& job) { return lane_for(job).jobs; }

void GatedLanes::insert(Job& job) {
  ++jobs_;
  if (!job.demand->has_lock_free()) return lock(job);
  job.place = Place::due;
  auto& lane = lane_for(job);
  const bool leads = lane.jobs.empty() || before_(job, lane.jobs.first());
  if (leads && !lane.jobs.empty()) delist(lane);
  lane.jobs.insert(job);
  gates_.note_due(*lane.claim, 1);
  if (leads) {
    enlist(lane);
  } else {
    count(lane, 1, true);
    note_age(lane);
  }
}

void GatedLanes::erase(Job& job) {
  --jobs_;
  if (job.place == Place::locked) {
    --locked_;
    locked_times_.erase(job);
    const auto own = waiting_.find(job.demand->lock);
    auto& alike = own->second[key_of(job)];
    alike.erase(&job);
    if (alike.empty()) own->second.erase(key_of(job));
    if (own->second.empty()) {
      own->first->waiters.erase(this);
      waiting_.erase(own);
    }
    return;
  }
  // It may go without having had its lock: the next one's turn.
  if (waiting_.contains(job.demand->lock)) freed(*job.demand->lock);
  auto& lane = lane_for(job);
  const bool leads = &lane.jobs.first() == &job;
  if (leads) {
    delist(lane);
    forget_passed(lane);
  } else {
    count(lane, 1, false);
  }
  lane.jobs.erase(job);
  gates_.note_due(*lane.claim, -1);
  if (lane.jobs.empty()) {
    lane.at = nullptr;
    emptied_.push_back({{lane.kind, lane.risk}, lane.claim});
  } else if (leads) {
    enlist(lane);
  } else {
    note_age(lane);
  }
}

void GatedLanes::note_age(Lane& lane) {
  const auto oldest = lane.jobs.oldest();
  if (oldest == lane.oldest) return;
  by_age_.erase({lane.oldest, &lane});
  lane.oldest = oldest;
  by_age_.emplace(oldest, &lane);
}

// Where it stood: its limiter is asked for the next one once there is news of it.
void GatedLanes::enlist(Lane& lane) {
  lane.turn = lane.claim->partition->turn;
  lane.oldest = lane.jobs.oldest();
  by_age_.emplace(lane.oldest, &lane);
  if (lane.at == nullptr) {
    open_.insert(&lane);
  } else {
    lane.at->lanes.insert(&lane);
  }
  count(lane, lane.jobs.size(), true);
}

void GatedLanes::delist(Lane& lane) {
  by_age_.erase({lane.oldest, &lane});
  if (lane.at == nullptr) {
    open_.erase(&lane);
  } else {
    lane.at->lanes.erase(&lane);
    if (lane.at->lanes.empty()) hollow_.emplace_back(lane.at->by, lane.claim->weight);
  }
  count(lane, lane.jobs.size(), false);
}

void GatedLanes::count(const Lane& lane, std::size_t jobs, bool more) {
  if (lane.at == nullptr) return;
  const bool by_rate = lane.at->by != nullptr && lane.at->by->type == Limiter::Type::rate;
  auto& blocked = by_rate ? blocked_by_rate_ : blocked_by_limit_;
  blocked = more ? blocked + jobs : blocked - jobs;
}

// Lanes outlive a batch that takes all their jobs, and limiters the lanes that wait for them.
void GatedLanes::sweep() {
  for (const auto& key : std::exchange(hollow_, {})) {
    const auto found = closed_.find(key);
    if (found == closed_.end() || !found->second->lanes.empty()) continue;
    auto* closed = found->second.get();
    again_.erase(closed);
    timed_.erase({closed->until, closed});
    closed_.erase(found);
    const auto other = closed_.lower_bound({key.first, 0});
    const bool waits = other != closed_.end() && other->first.first == key.first;
    if (key.first != nullptr && !waits) key.first->waiters.erase(this);
  }
  for (const auto& key : std::exchange(emptied_, {})) {
    const auto found = lanes_.find(key);
    if (found == lanes_.end() || !found->second->jobs.empty()) continue;
    gates_.drop(*found->second->claim);
    lanes_.erase(found);
  }
}

std::size_t GatedLanes::refused(const MarkedCompany& company) const {
  std::size_t jobs = 0;
  for (const auto* lane : open_) {
    if (kinds_[lane->kind].served && !company.admits(lane->risk)) jobs += lane->jobs.size();
  }
  return jobs;
}

Time GatedLanes::oldest() const {
  return std::min(locked_times_.oldest(), by_age_.empty() ? Time::max() : by_age_.begin()->first);
}

// ------------------------------------------------------------------------------------------------------
// locks

void GatedLanes::lock(Job& job) {
  job.place = Place::locked;
  ++locked_;
  locked_times_.insert(job);
  auto& alike =
      waiting_[job.demand->lock].try_emplace(key_of(job), std::set<Job*, DueBefore>(before_)).first->second;
  alike.insert(&job);
  job.demand->lock->waiters.insert(this);
}

void GatedLanes::freed(Lock& lock) {
  if (std::ranges::find(freed_, &lock) == freed_.end()) freed_.push_back(&lock);
}

// One for each lane: what is first of all may have no code here, or no room. Who comes too late waits again.
void GatedLanes::unlock_some() {
  for (auto* lock : std::exchange(freed_, {})) {
    const auto own = waiting_.find(lock);
    if (own == waiting_.end()) continue;
    std::vector<Job*> first;
    for (const auto& [key, jobs] : own->second) first.push_back(*jobs.begin());
    for (Job* job : first) {
      if (!job->demand->has_lock_free()) break;
      erase(*job);
      insert(*job);
    }
    if (waiting_.contains(lock)) lock->waiters.insert(this);
  }
}

// ------------------------------------------------------------------------------------------------- the
// choice

bool GatedLanes::admits(const Lane& lane, const Admission& admission) const {
  const auto& kind = kinds_[lane.kind];
  return admission.admits(kind.name, kind.served) && admission.admits(lane.risk);
}

bool GatedLanes::admits(const Job& job, Time now) {
  return job.demand->has_lock_free() && !gates_.ask(*job.demand->claim, now, &lane_for(job));
}

Lane* GatedLanes::first_open(const Admission& admission) {
  for (auto* lane : open_) {
    if (admits(*lane, admission)) return lane;
  }
  return nullptr;
}

// Turns that were had meanwhile, in other shards, too, put a lane behind.
Lane* GatedLanes::first_of(ClosedLanes& closed, const Admission& admission) {
  // Room that is kept for one of them refuses those before it.
  for (auto* lane : passed_) {
    if (lane->at == &closed && closed.by->kept_for == lane && admits(*lane, admission)) return lane;
  }
  for (auto next = closed.lanes.begin(); next != closed.lanes.end();) {
    Lane* lane = *next++;
    if (!admits(*lane, admission)) continue;
    if (closed.by == nullptr || !closed.by->by_turns || lane->turn == lane->claim->partition->turn)
      return lane;
    closed.lanes.erase(lane);
    lane->turn = lane->claim->partition->turn;
    closed.lanes.insert(lane);
    next = closed.lanes.begin();
  }
  return nullptr;
}

// Of the open ones and those whose limiter may admit them again.
Lane* GatedLanes::choose(const Admission& admission) {
  Lane* best = first_open(admission);
  const LaneByHead by_head{before_};
  for (auto* closed : again_) {
    Lane* lane = first_of(*closed, admission);
    if (lane == nullptr) continue;
    const bool compete =
        closed->by != nullptr && best != nullptr && best->at != nullptr && best->at->by == closed->by;
    const bool is_first = compete ? LaneByTurn{by_head, closed->by->by_turns}(lane, best)
                                  : best == nullptr || by_head(lane, best);
    if (is_first) best = lane;
  }
  return best;
}

std::optional<ShardId> GatedLanes::who_has_the_turn(const Job& job) const {
  std::pair own{job.priority, job.demand->claim->partition->turn};
  std::optional<ShardId> first;
  for (auto* limiter : job.demand->claim->limiters) {
    if (!limiter->by_turns || limiter->waiters.size() < 2) continue;
    for (const auto* lanes : limiter->waiters) {
      const auto turn = lanes == this ? std::nullopt : lanes->turn_at(*limiter);
      if (!turn || *turn >= own) continue;
      own = *turn;
      first = lanes->shard();
    }
  }
  return first;
}

// Of the first of those that wait there.
std::optional<std::pair<std::int32_t, std::uint64_t>> GatedLanes::turn_at(Limiter& limiter) const {
  std::optional<std::pair<std::int32_t, std::uint64_t>> first;
  for (auto next = closed_.lower_bound({&limiter, 0}); next != closed_.end() && next->first.first == &limiter;
       ++next) {
    if (next->second->lanes.empty()) continue;
    const auto* lane = *next->second->lanes.begin();
    const std::pair turn{lane->jobs.first().priority, lane->claim->partition->turn};
    if (!first || turn < *first) first = turn;
  }
  return first;
}

// Others wait for one of its limiters already, in turns: it joins them.
bool GatedLanes::competes(Lane& lane) {
  if (lane.at != nullptr) return false;
  for (auto* limiter : lane.claim->limiters) {
    if (!limiter->by_turns || !limiter->waiters.contains(this)) continue;
    delist(lane);
    lane.at = &closed_at(limiter, lane.claim->weight);
    enlist(lane);
    again_.insert(lane.at);
    return true;
  }
  return false;
}

Job* GatedLanes::best(Time now, const Admission& admission) {
  sweep();
  unlock_some();
  reopen(now);
  if (admission.normal && admission.kinds == nullptr) {
    for (auto next = passed_.begin(); next != passed_.end();) {
      Lane* lane = *next++;
      if (!admits(*lane, admission)) forget_passed(*lane);
    }
  }
  if (jobs_ == 0) return nullptr;
  while (Lane* lane = choose(admission)) {
    Job& job = lane->jobs.first();
    if (!job.demand->has_lock_free()) {
      erase(job);
      insert(job);
      continue;
    }
    if (competes(*lane)) continue;
    const auto refusal = gates_.ask(*lane->claim, now, lane);
    if (!refusal) return &job;
    close(*lane, *refusal, now);
  }
  return nullptr;
}

// ---------------------------------------------------------------------------------------------- closed lanes

ClosedLanes& GatedLanes::closed_at(Limiter* limiter, Amount weight) {
  auto& closed = closed_[{limiter, weight}];
  if (!closed) {
    closed = std::make_unique<ClosedLanes>();
    closed->by = limiter;
    closed->lanes =
        std::set<Lane*, LaneByTurn>(LaneByTurn{LaneByHead{before_}, limiter != nullptr && limiter->by_turns});
  }
  return *closed;
}

void GatedLanes::close(Lane& lane, const Gates::Refusal& refusal, Time now) {
  note_passed(lane, refusal, now);
  auto& to = closed_at(refusal.by, lane.claim->weight);
  if (lane.at != &to) {
    delist(lane);
    lane.at = &to;
    enlist(lane);
  }
  again_.erase(&to);
  if (refusal.by == nullptr) return;
  refusal.by->waiters.insert(this);
  wait_until(to, refusal.until);
}

void GatedLanes::wait_until(ClosedLanes& closed, Time until) {
  timed_.erase({closed.until, &closed});
  closed.until = until;
  if (until != Time::max()) timed_.emplace(until, &closed);
}

// One that only lacks room, while lighter ones find some, is passed over: after a while room is kept for it.
void GatedLanes::note_passed(Lane& lane, const Gates::Refusal& refusal, Time now) {
  if (refusal.by == nullptr || refusal.by->type == Limiter::Type::rate) return forget_passed(lane);
  const Job* first = &lane.jobs.first();
  if (lane.passed != first) {
    forget_passed(lane);
    lane.passed = first;
    lane.takes = refusal.by->takes;
    return;
  }
  if (!lane.passed_since && lane.takes != refusal.by->takes) {
    lane.passed_since = now;
    passed_.insert(&lane);
  }
  if (lane.passed_since && saturating_sub(now, *lane.passed_since) >= group_.rules.reserve_after)
    gates_.keep_room(*lane.claim, &lane);
}

void GatedLanes::forget_passed(Lane& lane) {
  if (std::exchange(lane.passed, nullptr) == nullptr) return;
  if (!std::exchange(lane.passed_since, std::nullopt)) return;
  passed_.erase(&lane);
  gates_.keep_no_room(&lane);
}

void GatedLanes::keep_no_room() {
  while (!passed_.empty()) forget_passed(**passed_.begin());
}

void GatedLanes::changed(Limiter& limiter) {
  for (auto next = closed_.lower_bound({&limiter, 0}); next != closed_.end() && next->first.first == &limiter;
       ++next) {
    if (!next->second->lanes.empty()) again_.insert(next->second.get());
  }
}

void GatedLanes::all_changed() {
  for (const auto& [key, closed] : closed_) {
    if (!closed->lanes.empty()) again_.insert(closed.get());
  }
}

// A clock that went back has all of them asked again.
void GatedLanes::reopen(Time now) {
  const bool went_back = now < std::exchange(asked_at_, now);
  while (!timed_.empty() && (went_back || timed_.begin()->first <= now)) {
    auto* closed = timed_.begin()->second;
    timed_.erase(timed_.begin());
    closed->until = Time::max();
    again_.insert(closed);
  }
}

std::optional<Time> GatedLanes::next_opening() const {
  return timed_.empty() ? std::nullopt : std::optional(timed_.begin()->first);
}

}  // namespace ordo::domain
