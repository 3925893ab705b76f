// What a job asks of limits and locks, and when it has them (rules §9, §10). Its slots count until its run
// has returned, its lock is its own until its end is durable.
#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "base/time_text.h"
#include "domain/gate_keys.h"
#include "domain/gates.h"
#include "domain/shard.h"
#include "domain/throttle.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kListedJobs = 1000;  // whose use of limits is told

// Null: it asks for a lock that its queue does not know.
const Limiter* refuser_of(const GatedLanes::Refused& refused) {
  if (refused.by != nullptr) return refused.by;
  const auto& claim = refused.claim;
  for (const auto* limiter : claim.limiters) {
    if (limiter->has_no_room_for(claim.weight, claim.group->rules.borrow)) return limiter;
  }
  return nullptr;
}

BlockedJobs blocked_of(const GatedLanes::Refused& refused, const Limiter* by) {
  const auto& claim = refused.claim;
  BlockedJobs jobs{.partition = claim.partition->value, .weight = claim.weight, .critical = claim.critical};
  if (by != nullptr) {
    jobs.by = by->name;
    jobs.by_partition = by->partition;
    jobs.by_rate = by->type == Limiter::Type::rate;
    jobs.until = refused.until;
  }
  return jobs;
}

/// What the job asks for, or will once it has settled. Null: nothing.
Demand* asked_by(const Job& job, const std::unordered_map<const Job*, Demand*>& edited) {
  const auto found = edited.find(&job);
  return found != edited.end() ? found->second : job.demand;
}

}  // namespace

Shard::~Shard() {
  for (const auto& [arrival, job] : killed_) Job::destroy(job);
  order_.clear();
  if (gates_ == nullptr) return;
  awaiting_.leave_lines();
  table_.each([&](Job& job) { leave_gates(job); });
}

// The first payload in arrival order that has a partition or a lock says what it is.
Demand* Shard::demand_of(const Job& job, const Entry& entry) {
  const auto* asked = asked_by(job, edited_);
  return demand_of(job, entry, asked != nullptr ? GateKeys{asked->partition, asked->lock_key} : GateKeys{});
}

Demand* Shard::demand_of(const Job& job, const Entry& entry, GateKeys keys) {
  const JobOptions none;
  const auto& options = job.extra ? job.extra->options : none;
  const auto& rules = kinds_[job.kind].rules;
  const bool asks = has_gates_ || options.lock || job.demand != nullptr;
  if (gates_ == nullptr || !asks) return nullptr;
  keys.add(rules, options, entry);
  auto& group = gates_->group_of(kinds_.queue());
  order_.hold_to(*gates_, group, takeover_.shard);
  return gates_->intern(group, std::move(keys.partition), std::move(keys.lock),
                        options.weight.value_or(rules.weight).millionths(), options.critical.value_or(false));
}

// The job stands nowhere.
void Shard::set_demand(Job& job, Demand* demand) {
  if (const auto edited = edited_.find(&job); edited != edited_.end()) {  // it is settling
    gates_->drop(*std::exchange(edited->second, demand));
    return;
  }
  if (job.demand != nullptr) {
    ORDO_ASSERT(!job.has_lock || demand->lock == job.demand->lock);
    gates_->drop(*job.demand);
  }
  job.demand = demand;
}

// True: it asks for something else than before, and was given no place for that yet.
bool Shard::asks_anew(const Job& job, const Entry& entry, Demand*& demand) {
  demand = demand_of(job, entry);
  if (demand == nullptr || demand != asked_by(job, edited_)) return demand != nullptr;
  gates_->drop(*std::exchange(demand, nullptr));
  return false;
}

// What was pushed while it ran is one with it.
void Shard::join_demand(Job& job, const Job& beside) {
  if (job.demand == nullptr || beside.demand == nullptr) return;
  const auto &own = *job.demand, &other = *beside.demand;
  const auto& options = job.extra->options;
  set_demand(job, gates_->intern(*own.claim->group, own.partition ? own.partition : other.partition,
                                 own.lock_key ? own.lock_key : other.lock_key,
                                 options.weight.value_or(kinds_[job.kind].rules.weight).millionths(),
                                 options.critical.value_or(false)));
}

// What a payload said of its partition or its lock stays.
void Shard::merge_options(Job& job, JobOptions later) {
  const auto* asked = asked_by(job, edited_);
  if (asked != nullptr && asked->partition) later.partition.reset();
  if (asked != nullptr && asked->lock_key) later.lock.reset();
  job.more().options.merge_later(later);
}

// What says so may go with the payload that dies.
void Shard::keep_demand(Job& job) {
  const auto* asked = asked_by(job, edited_);
  if (asked == nullptr) return;
  auto& options = job.more().options;
  options.partition = asked->partition;
  options.lock = asked->lock_key;
}

void Shard::take_slots(Job& job, Time now, bool goes_on) {
  if (job.demand == nullptr) return;
  auto& claim = *job.demand->claim;
  gates_->take(claim, now, goes_on);
  if (!goes_on) note_rates(job);
  job.is_counted = true;
  if (claim.group->throttle) claim.group->throttle->started(job, throttled(job, now));
}

void Shard::note_rates(const Job& job) {
  Gates::each_rate_of(*job.demand->claim, [&](std::string rate) { rates_.note(std::move(rate)); });
}

// It waits for a commit or for payloads, and is handed to its worker then.
void Shard::postpone_starts(const ActiveRun& run) {
  for (Job* job : run.jobs) {
    if (job->demand == nullptr) continue;
    gates_->postpone(*job->demand->claim, run.started);
    job->is_postponed = true;
  }
}

void Shard::start_postponed(ActiveRun& run, Time now) {
  for (Job* job : run.jobs) {
    if (!job->is_postponed) continue;
    job->is_postponed = false;
    gates_->start_postponed(*job->demand->claim, run.started, now);
    run.charged = now;
    note_rates(*job);
    has_rates_to_write_ = has_rates_to_write_ || rates_.has_notes();
  }
}

// False: its start is not to come.
bool Shard::drop_postponed(Job& job, Time chosen) {
  if (!job.is_postponed) return false;
  job.is_postponed = false;
  gates_->drop_postponed(*job.demand->claim, chosen);
  note_rates(job);
  return true;
}

void Shard::take_lock(Job& job) {
  if (job.demand == nullptr || job.demand->lock == nullptr || job.has_lock) return;
  gates_->hold(*job.demand);
  job.has_lock = true;
}

// The end of its run, which follows, writes it.
void Shard::penalize(const Job& job, Duration time, Time now) {
  if (time.count() <= 0 || job.demand == nullptr) return;
  const auto& claim = *job.demand->claim;
  gates_->penalize(claim, now, time_after(now, std::min(time, kMostPenalty)));
  rates_.note(std::string(kPenaltyOf) + claim.partition->value);
}

void Shard::free_slots(Job& job) {
  if (!job.is_counted) return;
  job.is_counted = false;
  drop_postponed(job, Time::min());
  gates_->run_ended(*job.demand->claim->group, job);
  gates_->free(*job.demand->claim);
}

// It was not started after all: its rates get back what they were charged, too.
void Shard::return_slots(Job& job, Time charged) {
  if (!job.is_counted) return;
  job.is_counted = false;
  auto& claim = *job.demand->claim;
  if (!drop_postponed(job, charged)) {
    gates_->refund(claim, charged);
    note_rates(job);
  }
  Gates::run_recalled(*claim.group, job);
  gates_->free(claim);
}

void Shard::free_lock(Job& job) {
  if (!job.has_lock) return;
  job.has_lock = false;
  gates_->release(*job.demand);
}

void Shard::leave_gates(Job& job) {
  if (const auto edited = edited_.extract(&job)) gates_->drop(*edited.mapped());
  if (job.demand == nullptr) return;
  free_slots(job);
  free_lock(job);
  gates_->drop(*job.demand);
  job.demand = nullptr;
}

bool Shard::must_be_written(const ActiveRun& run) const {
  for (const Job* job : run.jobs) {
    if (job->demand != nullptr && Gates::is_to_be_written(*job->demand->claim)) return true;
  }
  return false;
}

void Shard::count_gates(Counts& counts, Time now, const Counts* told) {
  counts.blocked_by_key = order_.parked();
  counts.blocked_by_throttler = order_.refused(now);
  const auto* lanes = order_.gated();
  if (lanes == nullptr) return;  // no job of it has asked for anything here
  const auto& group = gates_->group_of(kinds_.queue());
  if (told != nullptr) {
    counts.limits = told->limits;
    counts.locks = told->locks;
    counts.blocked = told->blocked;
    counts.throttled = told->throttled;
  } else {
    list_limits(counts, group, now);
    list_locks(counts);
    list_throttled(counts);
  }
  counts.blocked_by_lock = lanes->locked() + awaiting_.locked();
  counts.blocked_by_limit = lanes->blocked(/*by_rate=*/false);
  counts.blocked_by_rate = lanes->blocked(/*by_rate=*/true);
}

// What this shard has of each, and how many wait here: readers add them up.
void Shard::list_limits(Counts& counts, const Group& group, Time now) const {
  std::map<std::pair<bool, const Limiter*>, LimitUse> uses;
  const auto use_of = [&](const Limiter& limiter) -> LimitUse* {
    const bool is_rate = limiter.type == Limiter::Type::rate;
    const std::pair key{is_rate, &limiter};
    if (limiter.is_penalty && limiter.is_over(now)) return nullptr;  // it is over
    if (uses.size() >= kMostUses && !uses.contains(key)) return nullptr;
    auto& use = uses[key];
    use.name = limiter.name;
    use.partition = limiter.partition;
    use.is_rate = is_rate;
    use.limit = is_rate ? std::int64_t{limiter.rate.limit} * Decimal::kOne : limiter.limit;
    if (const auto next = is_rate ? limiter.next_start(now) : Time::min(); next != Time::min())
      use.free_at = next;
    return &use;
  };
  auto left = kListedJobs;
  const auto count = [&](const Job& job) {
    if (!job.is_counted || left == 0) return;
    --left;
    for (const auto* limiter : job.demand->claim->limiters) {
      auto* use = use_of(*limiter);
      if (use == nullptr || use->is_rate) continue;
      use->used += job.demand->claim->weight;
      if (use->held_by.size() < kToldHolders) use->held_by.emplace_back(job.id());
    }
  };
  runs_.each([&](RunNo, const ActiveRun& run) {
    for (const Job* job : run.jobs) count(*job);
  });
  awaiting_.each(count);
  order_.gated()->each_refused([&](const GatedLanes::Refused& refused) {
    const auto* by = refuser_of(refused);
    auto* use = by == nullptr ? nullptr : use_of(*by);
    if (use != nullptr) use->waiting += refused.jobs;
    if (counts.blocked.size() < kMostUses) counts.blocked.push_back(blocked_of(refused, by));
    return counts.blocked.size() < kMostUses || uses.size() < kMostUses;
  });
  if (group.was_penalized) {
    for (const auto& [value, partition] : group.partitions) {
      if (uses.size() >= kMostUses) break;
      if (partition.penalty) use_of(*partition.penalty);
    }
  }
  for (auto& [key, use] : uses) counts.limits.push_back(std::move(use));
  std::ranges::sort(counts.limits, {},
                    [](const LimitUse& use) { return std::tie(use.name, use.partition, use.is_rate); });
}

void Shard::list_locks(Counts& counts) const {
  const auto& name = lock_name_of(kinds_.queue());
  std::map<std::string_view, LockUse> uses;
  const auto use_of = [&](std::string_view key) -> LockUse* {
    if (uses.size() >= kMostUses && !uses.contains(key)) return nullptr;
    auto& use = uses[key];
    use.name = name;
    use.key = key;
    return &use;
  };
  auto left = kListedJobs;
  const auto count = [&](const Job& job) {
    const bool wants = job.waits() != nullptr && job.waits()->ticket != 0;
    if ((!job.has_lock && !wants) || left == 0) return;
    --left;
    auto* use = use_of(*job.demand->lock_key);
    if (use == nullptr) return;
    if (wants) {
      ++use->waiting;
    } else if (use->held_by.size() < kToldHolders) {
      use->held_by.emplace_back(job.id());
    }
  };
  runs_.each([&](RunNo, const ActiveRun& run) {
    for (const Job* job : run.jobs) count(*job);
  });
  awaiting_.each(count);
  order_.gated()->each_locked([&](const Lock& lock, std::size_t jobs) {
    if (auto* use = use_of(lock.key)) use->waiting += jobs;
    return uses.size() < kMostUses;
  });
  for (auto& [key, use] : uses) counts.locks.push_back(std::move(use));
}

}  // namespace ordo::domain
