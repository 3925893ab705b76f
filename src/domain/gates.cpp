#include "domain/gates.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/saturate.h"
#include "base/time_text.h"
#include "domain/awaiting.h"
#include "domain/clock_guard.h"
#include "domain/gated_lanes.h"
#include "domain/throttle.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kMostExactStarts = 1'000'000;  // starts: then those of a hundredth of a period are one

std::unique_ptr<Limiter> make_slots(std::string name, Decimal limit, const QueueOptions* rules) {
  auto limiter = std::make_unique<Limiter>();
  limiter->name = std::move(name);
  limiter->limit = limit.millionths();
  limiter->alone = rules != nullptr && rules->oversize == Oversize::alone;
  limiter->by_turns = rules == nullptr || !rules->partition.empty();
  return limiter;
}

// So much of the queue's limit, but never less than one job's worth.
Amount part_of(Decimal limit, std::uint32_t percent) {
  const Amount whole = limit.millionths() / Decimal::kOne * percent / 100;  // of a job that weighs one
  return std::max<Amount>(whole, 1) * Decimal::kOne;
}

}  // namespace

bool has_locks(const QueueOptions& queue) {
  const auto own = [](const KindOptions& kind) { return kind.lock && !kind.lock->empty(); };
  return !queue.lock.empty() || std::ranges::any_of(queue.kinds, own);
}

bool has_gates(const QueueOptions& queue) {
  return queue.limit || queue.partition_limit || queue.rate || !queue.limits.empty() ||
         queue.critical_limit || queue.throttler || has_locks(queue);
}

std::vector<std::string> groups_of(const QueueOptions& queue) {
  std::vector<std::string> groups;
  if (!queue.group.empty()) groups.push_back(queue.group);
  if (!has_gates(queue)) return groups;
  groups.push_back("queue:" + queue.name);
  for (const auto& name : queue.limits) groups.push_back("limit:" + name);
  if (!queue.lock_name.empty()) groups.push_back("lock:" + queue.lock_name);
  return groups;
}

Group::Group() = default;
Group::~Group() = default;

std::unique_ptr<Limiter> Gates::make_rate(std::string name, const RateLimit& rate, bool by_turns) {
  auto limiter = std::make_unique<Limiter>(&remembered_);
  limiter->type = Limiter::Type::rate;
  limiter->name = std::move(name);
  limiter->rate = rate;
  limiter->by_turns = by_turns;
  return limiter;
}

Gates::Gates(std::span<const NamedLimit> named) {
  for (const auto& limit : named) add(limit);
}

void Gates::add(const NamedLimit& limit) {
  named_[limit.name] = limit;
  if (limit.limit)
    named_slots_[limit.name] = make_slots(limit.name, limit_of(limit.name, *limit.limit), nullptr);
  if (limit.rate) named_rates_[limit.name] = make_rate(limit.name, rate_of(limit.name, *limit.rate), true);
}

Group& Gates::group_of(const QueueOptions& queue) {
  auto& known = groups_[queue.name];
  if (known) return *known;
  known = std::make_unique<Group>();
  auto& group = *known;
  group.rules = queue;
  if (queue.limit) group.slots = make_slots(queue.name, *queue.limit, &queue);
  if (queue.critical_limit)
    group.critical = make_slots(critical_name(queue.name), *queue.critical_limit, &queue);
  if (queue.rate && queue.rate->each == RateEach::queue)
    group.rate = make_rate(queue.name, *queue.rate, !queue.partition.empty());
  for (const auto& name : queue.limits) {
    if (const auto slots = named_slots_.find(name); slots != named_slots_.end())
      group.named.push_back(slots->second.get());
  }
  for (const auto& name : queue.limits) {
    if (const auto rate = named_rates_.find(name); rate != named_rates_.end())
      group.named.push_back(rate->second.get());
  }
  if (has_locks(queue)) {
    const auto [space, is_new] = locks_.try_emplace(lock_name_of(queue));
    space->second.slots = is_new ? queue.lock_slots : std::min(space->second.slots, queue.lock_slots);
    group.locks = &space->second;
  }
  if (queue.limit && !queue.shares.empty()) {
    const auto add = [&](const std::string& value) {
      auto share = make_slots(queue.name, Decimal{}, &queue);
      share->type = Limiter::Type::share;
      share->partition = value.empty() ? kUnlisted : value;
      share->by_turns = value.empty();
      group.shares.emplace(value, std::move(share));
    };
    for (const auto& [value, percent] : queue.shares) add(value);
    add("");
  }
  if (queue.throttler) group.throttle = std::make_unique<Throttle>(queue.throttler, rounds_);
  apply_changes(group);
  return group;
}

// --------------------------------------------------------------------------------------------------- changes

Decimal Gates::limit_of(const std::string& name, Decimal stated) const {
  const auto change = changes_.find(name);
  return change == changes_.end() ? stated : change->second.limit.value_or(stated);
}

RateLimit Gates::rate_of(const std::string& name, const RateLimit& stated) const {
  const auto change = changes_.find(name);
  return change == changes_.end() ? stated : change->second.rate.value_or(stated);
}

void Gates::apply_changes(Group& group) {
  const auto& rules = group.rules;
  if (group.slots) group.slots->limit = limit_of(rules.name, *rules.limit).millionths();
  std::uint32_t left = 100;
  for (const auto& [value, percent] : rules.shares) left -= std::min(left, percent);
  for (auto& [value, share] : group.shares) {
    const auto stated = rules.shares.find(value);
    const auto percent = stated == rules.shares.end() ? left : stated->second;
    share->limit = percent == 0 ? 0 : part_of(limit_of(rules.name, *rules.limit), percent);
  }
  if (group.rate) group.rate->rate = rate_of(rules.name, *rules.rate);
  for (auto& [value, partition] : group.partitions) {
    if (partition.rate) partition.rate->rate = rate_of(rules.name, *rules.rate);
  }
  for (auto& [key, claim] : group.claims) look_at_room(claim);
}

void Gates::set(std::map<std::string, LimitChange, std::less<>> changes) {
  changes_ = std::move(changes);
  for (const auto& [name, limit] : named_) {
    if (limit.limit) named_slots_.at(name)->limit = limit_of(name, *limit.limit).millionths();
    if (limit.rate) named_rates_.at(name)->rate = rate_of(name, *limit.rate);
  }
  for (auto& [name, group] : groups_) apply_changes(*group);
}

void Gates::forget(const std::string& queue) {
  const auto gone = groups_.extract(queue);
  if (gone.empty()) return;
  auto& group = *gone.mapped();
  const auto let_go = [&](const std::unique_ptr<Limiter>& limiter) { kept_.erase(limiter.get()); };
  for (const auto* own : {&group.slots, &group.rate, &group.critical}) let_go(*own);
  for (const auto& [value, share] : group.shares) let_go(share);
  for (const auto& [value, partition] : group.partitions) {
    let_go(partition.slots);
    let_go(partition.rate);
    let_go(partition.penalty);
  }
  if (group.locks == nullptr) return;
  std::optional<std::uint32_t> slots;  // of the queues that share them still
  for (const auto& [name, other] : groups_) {
    if (other->locks == group.locks)
      slots = std::min(slots.value_or(other->rules.lock_slots), other->rules.lock_slots);
  }
  if (slots) {
    group.locks->slots = *slots;
  } else {
    locks_.erase(lock_name_of(group.rules));
  }
}

// --------------------------------------------------------------------------------------------------- demands

Demand* Gates::intern(Group& group, std::optional<std::string> partition, std::optional<std::string> lock,
                      Amount weight, bool critical) {
  const auto [known, is_new] = group.demands.try_emplace(Group::DemandKey{partition, lock, weight, critical});
  auto& demand = known->second;
  ++demand.users;
  if (!is_new) return &demand;
  const bool is_lock_known = !lock || group.locks != nullptr;
  demand.claim = &claim_of(group, partition.value_or(""), weight, critical, !is_lock_known);
  use(*demand.claim);
  if (lock && group.locks != nullptr) {
    auto& own = group.locks->locks[*lock];
    own.key = *lock;
    ++own.users;
    demand.lock = &own;
    demand.space = group.locks;
  }
  demand.partition = std::move(partition);
  demand.lock_key = std::move(lock);
  return &demand;
}

void Gates::drop(Demand& demand) {
  if (--demand.users > 0) return;
  Claim& claim = *demand.claim;
  if (demand.lock != nullptr && --demand.lock->users == 0) claim.group->locks->locks.erase(demand.lock->key);
  Group& group = *claim.group;
  const Group::DemandKey key{demand.partition, demand.lock_key, claim.weight, claim.critical};
  drop(claim);
  group.demands.erase(key);
}

Claim& Gates::claim_of(Group& group, const std::string& value, Amount weight, bool critical,
                       bool wants_unknown_lock) {
  const auto [known, is_new] = group.claims.try_emplace({value, weight, critical, wants_unknown_lock});
  auto& claim = known->second;
  if (!is_new) return claim;
  claim.group = &group;
  claim.partition = &partition_of(group, value);
  ++claim.partition->claims;
  claim.weight = weight;
  claim.critical = critical;
  claim.wants_unknown_lock = wants_unknown_lock;
  const auto hold_to = [&](Limiter* limiter) {
    if (limiter != nullptr) claim.limiters.push_back(limiter);
  };
  if (critical) {
    hold_to(group.critical.get());
    look_at_room(claim);
    return claim;
  }
  hold_to(group.slots.get());
  if (!group.shares.empty()) {
    const auto own = group.shares.find(value);
    hold_to((own == group.shares.end() ? group.shares.find("") : own)->second.get());
  }
  hold_to(claim.partition->slots.get());
  for (auto* limiter : group.named) {
    if (limiter->type != Limiter::Type::rate) hold_to(limiter);
  }
  hold_to(group.rate.get());
  hold_to(claim.partition->rate.get());
  for (auto* limiter : group.named) {
    if (limiter->type == Limiter::Type::rate) hold_to(limiter);
  }
  hold_to(claim.partition->penalty.get());
  look_at_room(claim);
  return claim;
}

void Gates::look_at_room(Claim& claim) {
  const bool borrows = claim.group->rules.borrow;
  claim.never = claim.wants_unknown_lock || std::ranges::any_of(claim.limiters, [&](const auto* limiter) {
                  return limiter->has_no_room_for(claim.weight, borrows);
                });
}

void Gates::drop(Claim& claim) {
  if (--claim.users > 0) return;
  --claim.partition->claims;
  claim.group->claims.erase({claim.partition->value, claim.weight, claim.critical, claim.wants_unknown_lock});
}

Partition& Gates::partition_of(Group& group, const std::string& value) {
  if (group.partitions.size() >= 2 * group.swept + 16) sweep(group);
  const auto [known, is_new] = group.partitions.try_emplace(value);
  auto& partition = known->second;
  if (!is_new) return partition;
  const auto& rules = group.rules;
  partition.value = value;
  if (rules.partition_limit) {
    partition.slots = make_slots(rules.name, *rules.partition_limit, &rules);
    partition.slots->partition = value;
    partition.slots->by_turns = false;
  }
  if (rules.rate && rules.rate->each == RateEach::partition) {
    partition.rate = make_rate(rules.name, rate_of(rules.name, *rules.rate), false);
    partition.rate->partition = value;
    if (group.empty_at != Time::min()) partition.rate->exhaust(group.empty_at);
  }
  return partition;
}

// A value that nobody asks for is forgotten once its starts are over.
void Gates::sweep(Group& group) {
  const auto is_over = [&](const auto& rate) { return !rate || rate->is_over(now_); };
  std::erase_if(group.partitions, [&](const auto& entry) {
    return entry.second.claims == 0 && is_over(entry.second.rate) && is_over(entry.second.penalty);
  });
  group.swept = group.partitions.size();
  group.was_penalized = std::ranges::any_of(
      group.partitions, [](const auto& entry) { return entry.second.penalty != nullptr; });
}

// -------------------------------------------------------------------------------------------------- the
// gates

void Gates::disbelieve(Duration excess) {
  excess_before_.insert(excess_);
  excess_ = excess;
  if (excess == Duration{}) excess_before_.clear();
}

void Gates::believe() {
  const auto by = std::exchange(excess_, {});
  excess_before_.clear();
  if (now_ != Time::min()) now_ = time_after(now_, by);
  each_limiter([&](Limiter& limiter) { limiter.shift(by); });
  for (const auto& [name, group] : groups_) {
    if (group->empty_at != Time::min()) group->empty_at = time_after(group->empty_at, by);
  }
}

std::optional<Gates::Refusal> Gates::ask(const Claim& claim, Time now, const void* who) {
  now_ = believed(now);
  if (claim.never) return Refusal{};
  for (auto* limiter : claim.limiters) {
    const auto until = limiter->refuses(claim.weight, now_, who);
    if (!until) continue;
    if (limiter->type == Limiter::Type::share && may_borrow(claim, *limiter)) continue;
    return Refusal{limiter, *until == Time::max() ? *until : time_after(*until, excess_)};
  }
  return std::nullopt;
}

bool Gates::may_borrow(const Claim& claim, const Limiter& share) const {
  const auto& group = *claim.group;
  return group.rules.borrow && std::ranges::none_of(group.shares, [&](const auto& entry) {
           const auto& other = *entry.second;
           return &other != &share && other.due > 0 &&
                  other.used + group.rules.weight.millionths() <= other.limit;
         });
}

Duration Gates::grain_of(const Limiter& rate) const {
  return remembered_ < kMostExactStarts ? Duration{} : rate.rate.per / 100;
}

void Gates::take(Claim& claim, Time now, bool goes_on) {
  now_ = believed(now);
  bool has_share = false;
  for (auto* limiter : claim.limiters) {
    if (limiter->type == Limiter::Type::rate) {
      if (!goes_on) limiter->charge(now_, grain_of(*limiter));
      continue;
    }
    limiter->used += claim.weight;
    ++limiter->takes;
    has_share = has_share || limiter->type == Limiter::Type::share;
  }
  if (!goes_on) claim.partition->turn = ++turns_;
  if (has_share) shares_changed(*claim.group);
}

void Gates::free(Claim& claim) {
  bool has_share = false;
  for (auto* limiter : claim.limiters) {
    if (limiter->type == Limiter::Type::rate) continue;
    limiter->used -= claim.weight;
    ORDO_ASSERT(limiter->used >= 0);
    has_share = has_share || limiter->type == Limiter::Type::share;
    changed(*limiter);
  }
  if (has_share) shares_changed(*claim.group);
}

void Gates::begin_round() {
  ++rounds_.number;
  woken_.merge(std::exchange(rounds_.go_on, {}));
}

void Gates::run_ended(Group& group, const Job& job) {
  if (!group.throttle) return;
  group.throttle->ended(job);
  woken_.merge(group.throttle->take_skipped());
}

void Gates::run_recalled(Group& group, const Job& job) {
  if (group.throttle) group.throttle->forget(job);
}

void Gates::refund(Claim& claim, Time at) {
  for (auto* limiter : claim.limiters) {
    if (limiter->type != Limiter::Type::rate) continue;
    limiter->refund(believed_start(at));
    changed(*limiter);
  }
}

void Gates::postpone(Claim& claim, Time now) {
  for (auto* limiter : claim.limiters) {
    if (limiter->type == Limiter::Type::rate) limiter->postpone(believed(now));
  }
}

void Gates::start_postponed(Claim& claim, Time chosen, Time now) {
  now_ = believed(now);
  for (auto* limiter : claim.limiters) {
    if (limiter->type == Limiter::Type::rate)
      limiter->start_postponed(believed_start(chosen), now_, grain_of(*limiter));
  }
}

void Gates::drop_postponed(Claim& claim, Time chosen) {
  for (auto* limiter : claim.limiters) {
    if (limiter->type != Limiter::Type::rate) continue;
    limiter->drop_postponed(believed_start(chosen));
    changed(*limiter);
  }
}

void Gates::release(Demand& demand) {
  ORDO_ASSERT(demand.lock->holders > 0);
  --demand.lock->holders;
  lock_freed(demand);
}

void Gates::passes_on(Demand& demand) {
  --demand.lock->called;
  lock_freed(demand);
}

void Gates::lock_freed(Demand& demand) {
  auto& lock = *demand.lock;
  while (!lock.line.empty() && demand.has_lock_free()) {
    const auto [in, job] = lock.line.begin()->second;
    lock.line.erase(lock.line.begin());
    ++lock.called;
    in->called(*job);
    woken_.insert(in->shard());
  }
  if (!demand.has_lock_free()) return;
  woken_.merge(std::exchange(lock.watchers, {}));
  const auto waiters = std::exchange(lock.waiters, {});
  for (auto* lanes : waiters) {
    lanes->freed(lock);
    wake(*lanes);
  }
}

std::uint64_t Gates::line_up(Demand& demand, Awaiting& in, Job& job) {
  const auto ticket = ++demand.lock->tickets;
  demand.lock->line.emplace(ticket, std::pair{&in, &job});
  return ticket;
}

void Gates::penalize(Group& group, Partition& partition, Time now, Time until) {
  if (!partition.penalty) {
    partition.penalty = make_rate(penalty_name(group.rules.name), RateLimit{.limit = 1}, false);
    partition.penalty->partition = partition.value;
    partition.penalty->is_penalty = true;
    const auto first =
        group.claims.lower_bound({partition.value, std::numeric_limits<Amount>::min(), false, false});
    for (auto at = first; at != group.claims.end() && at->second.partition == &partition; ++at) {
      if (!at->second.critical) at->second.limiters.push_back(partition.penalty.get());
    }
  }
  now_ = now;
  auto& penalty = *partition.penalty;
  penalty.closed_until = std::max(cut_end(penalty.closed_until, penalty.closed_at, now), until);
  penalty.closed_at = now;
  group.was_penalized = true;
}

void Gates::note_due(Claim& claim, int change) {
  if (claim.never) return;
  for (auto* limiter : claim.limiters) {
    if (limiter->type != Limiter::Type::share) continue;
    limiter->due = change > 0 ? limiter->due + 1 : limiter->due - 1;
    if (limiter->due == 0) shares_changed(*claim.group);
  }
}

void Gates::shares_changed(Group& group) {
  if (!group.rules.borrow) return;
  for (auto& [value, share] : group.shares) changed(*share);
}

// For one at a time: two that keep room in each other's limiters would wait for ever.
void Gates::keep_room(const Claim& claim, const void* who) {
  if (std::ranges::any_of(kept_, [&](const Limiter* limiter) { return limiter->kept_for != who; })) return;
  for (auto* limiter : claim.limiters) {
    if (limiter->type == Limiter::Type::rate || limiter->kept_for == who) continue;
    if (!limiter->refuses(claim.weight, now_, who)) continue;
    limiter->kept_for = who;
    limiter->kept = std::min(claim.weight, limiter->limit);
    kept_.insert(limiter);
  }
}

void Gates::keep_no_room(const void* who) {
  std::vector<Limiter*> freed;
  for (auto* limiter : kept_) {
    if (limiter->kept_for == who) freed.push_back(limiter);
  }
  for (auto* limiter : freed) {
    kept_.erase(limiter);
    limiter->kept_for = nullptr;
    limiter->kept = 0;
    changed(*limiter);
  }
}

void Gates::changed(Limiter& limiter) {
  for (auto* lanes : limiter.waiters) {
    lanes->changed(limiter);
    wake(*lanes);
  }
}

void Gates::wake(GatedLanes& lanes) { woken_.insert(lanes.shard()); }

void Gates::forget(GatedLanes& lanes) {
  each_limiter([&](Limiter& limiter) { limiter.waiters.erase(&lanes); });
}

// --------------------------------------------------------------------------------------------------- rates

Limiter* Gates::rate_named(Group& group, std::string_view name) {
  const auto rest_of = [&](std::string_view begin) -> std::optional<std::string_view> {
    return name.starts_with(begin) ? std::optional(name.substr(begin.size())) : std::nullopt;
  };
  if (name == kRateOfQueue) return group.rate.get();
  if (const auto limit = rest_of(kRateOfLimit)) {
    for (auto* limiter : group.named) {
      if (limiter->type == Limiter::Type::rate && limiter->name == *limit) return limiter;
    }
    return nullptr;
  }
  const auto of_partition = rest_of(kRateOfPartition), of_penalty = rest_of(kPenaltyOf);
  if (!of_partition && !of_penalty) return nullptr;
  const auto found = group.partitions.find(of_partition ? *of_partition : *of_penalty);
  if (found == group.partitions.end()) return nullptr;
  return of_partition ? found->second.rate.get() : found->second.penalty.get();
}

std::optional<RateRecord> Gates::record(Group& group, const std::string& name) const {
  auto* limiter = rate_named(group, name);
  auto record = limiter == nullptr ? std::nullopt : limiter->record(name, now_);
  return record ? std::optional(shifted(*std::move(record), excess_)) : std::nullopt;
}

// The clock may have leapt several times: it is of the first time that it may be of. Within a minute nobody
// knows, and what is too late counts as now.
void Gates::tell(RateRecord& written, Time now) const {
  for (const auto excess : excess_before_) {
    if (excess >= excess_) return;
    if (written.at > saturating_add(time_after(believed(now), excess), kLeap)) continue;
    written = shifted(std::move(written), excess_ - excess);
    return;
  }
}

void Gates::restore(Group& group, const RateRecord& told, Time now) {
  now_ = believed(now);
  const auto record = shifted(told, -excess_);
  const std::string_view name = record.name;
  const auto until = cut_end(record.until, record.at, now_);
  if (until <= now_) return;
  if (name.starts_with(kPenaltyOf)) {
    auto& partition = partition_of(group, record.name.substr(kPenaltyOf.size()));
    return penalize(group, partition, now_, std::min(until, time_after(now_, kMostPenalty)));
  }
  const bool is_of_partition = name.starts_with(kRateOfPartition);
  if (is_of_partition && (!group.rules.rate || group.rules.rate->each != RateEach::partition)) return;
  if (is_of_partition) partition_of(group, record.name.substr(kRateOfPartition.size()));
  if (auto* limiter = rate_named(group, name)) limiter->restore(record);
}

// Calls `visit(Limiter&, std::string_view of, std::string_view name)`: together they are its name in a row.
template <class Visit>
static void each_rate(const Group& group, Visit visit) {
  const auto see = [&](Limiter* rate, std::string_view of, std::string_view name) {
    if (rate != nullptr && rate->type == Limiter::Type::rate) visit(*rate, of, name);
  };
  see(group.rate.get(), kRateOfQueue, {});
  for (auto* limiter : group.named) see(limiter, kRateOfLimit, limiter->name);
  for (const auto& [value, partition] : group.partitions) see(partition.rate.get(), kRateOfPartition, value);
}

void Gates::empty_rates(Group& group, Time told) {
  const auto now = now_ = believed(told);
  group.empty_at = std::max(group.empty_at, now);  // of values that come up later
  each_rate(group, [&](Limiter& rate, std::string_view, std::string_view) { rate.exhaust(now); });
}

std::vector<std::string> Gates::short_rates(const Group& group) {
  std::vector<std::string> names;
  each_rate(group, [&](const Limiter& rate, std::string_view of, std::string_view name) {
    if (rate.rate.per <= kShortRate) names.push_back(std::string(of) + std::string(name));
  });
  return names;
}

bool Gates::is_to_be_written(const Claim& claim) {
  return std::ranges::any_of(claim.limiters, [](const Limiter* limiter) {
    return limiter->type == Limiter::Type::rate && limiter->rate.per > kShortRate;
  });
}

}  // namespace ordo::domain
