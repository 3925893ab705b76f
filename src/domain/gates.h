#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <ordo/options.hpp>

#include "base/time_text.h"
#include "domain/limit_change.h"
#include "domain/limiter.h"
#include "domain/shard_id.h"

namespace ordo::domain {

class Awaiting;
class GatedLanes;
class Job;
class Throttle;
struct Group;

/// Stands for the values that have no share of their own, which have one together.
inline constexpr std::string_view kUnlisted = "*";

/// The names of what a queue has beside its limit and its rate; no queue has such a name.
inline constexpr std::string_view kPenaltyEnd = " penalty", kCriticalEnd = " critical";
inline std::string penalty_name(std::string_view queue) { return std::string(queue).append(kPenaltyEnd); }
inline std::string critical_name(std::string_view queue) { return std::string(queue).append(kCriticalEnd); }

/// What the rates of a queue and its penalties are called where they are written down.
inline constexpr std::string_view kRateOfQueue = "queue", kRateOfPartition = "partition:",
                                  kRateOfLimit = "limit:", kPenaltyOf = "penalty:";

/// One value of a queue's partition, or the queue where it has none.
struct Partition {
  std::string value;
  std::uint64_t turn = 0;  ///< when one of its jobs was started last: whose turn it is where values compete
  std::size_t claims = 0;
  std::unique_ptr<Limiter> slots, rate;  ///< its own; null: none
  std::unique_ptr<Limiter> penalty;      ///< null: it never had one
};

/// What a job is held to besides its lock. Jobs with the same stand in one lane.
struct Claim {
  Group* group = nullptr;
  Partition* partition = nullptr;
  Amount weight = 0;
  bool critical = false;
  bool wants_unknown_lock = false;  ///< of a queue that has none
  bool never = false;               ///< the rules have no room for it: it waits until they are others
  std::vector<Limiter*> limiters;   ///< slots before rates
  std::size_t users = 0;
};

/// A key of which only so many jobs run at a time, whatever their queue.
struct Lock {
  std::string key;
  std::uint32_t holders = 0;
  std::size_t users = 0;
  std::set<GatedLanes*> waiters;
  /// Responses that are to be handled stand in a line before all who wait: by ticket.
  std::map<std::uint64_t, std::pair<Awaiting*, Job*>> line;
  std::uint64_t tickets = 0;
  std::set<ShardId> watchers;  ///< of responses that only other nodes may start: to be woken
  std::uint32_t called = 0;    ///< whose turn has come, and who have not started
};

/// The locks of one name.
struct LockSpace {
  std::uint32_t slots = 1;
  std::map<std::string, Lock, std::less<>> locks;
};

/// What a job asks of the gates. Interned: equal ones are one object.
struct Demand {
  std::optional<std::string> partition;  ///< nothing: none of its payloads has one
  std::optional<std::string> lock_key;   ///< likewise
  Claim* claim = nullptr;
  Lock* lock = nullptr;
  const LockSpace* space = nullptr;  ///< of `lock`
  std::size_t users = 0;

  bool has_lock_free() const { return lock == nullptr || lock->holders + lock->called < space->slots; }
};

/// The limits and locks of one queue, and who asks for them.
struct Group {
  QueueOptions rules;
  LockSpace* locks = nullptr;  ///< null: it has none
  std::unique_ptr<Limiter> slots, rate, critical;
  std::map<std::string, std::unique_ptr<Limiter>, std::less<>> shares;  ///< "": of all values without one
  std::vector<Limiter*> named;
  std::map<std::string, Partition, std::less<>> partitions;
  bool was_penalized = false;   ///< some partition has a penalty
  Time empty_at = Time::min();  ///< short rates were, for all that is known: an owner crashed then
  std::size_t swept = 0;        ///< so many of these were left when the idle ones went last
  std::map<std::tuple<std::string, Amount, bool, bool>, Claim> claims;
  using DemandKey = std::tuple<std::optional<std::string>, std::optional<std::string>, Amount, bool>;
  std::map<DemandKey, Demand> demands;
  std::unique_ptr<Throttle> throttle;  ///< null: it has none

  Group();
  ~Group();
};

/// What the throttlers of a node have in common (domain/throttle.h).
struct ThrottlerRounds {
  std::uint64_t number = 0;          ///< of the round that goes on
  std::size_t most_questions = 100;  ///< to each of them in a round
  std::set<ShardId> go_on;           ///< shards that wait for the next one
};

/// The limits and locks of the queues whose shards this node owns (rules §9, §10): how much of them is used,
/// and who waits. All shards of queues that share one are on one node and in one thread, so what is said
/// here is exact. Not thread-safe; outlives the shards that use it.
class Gates {
 public:
  explicit Gates(std::span<const NamedLimit> named = {});
  /// Before group_of() any queue that names it.
  void add(const NamedLimit& limit);
  Gates(const Gates&) = delete;
  Gates& operator=(const Gates&) = delete;

  /// The rules that were stated first count.
  Group& group_of(const QueueOptions& queue);
  /// What stands above the rules from now on, instead of what did before. Nothing for what has no such limit.
  /// What runs goes on; the lanes that wait are to ask again.
  void set(std::map<std::string, LimitChange, std::less<>> changes);

  /// No shard of the queue is left here: its rules may be others when one comes again.
  void forget(const std::string& queue);

  /// Each intern() is undone by a drop().
  Demand* intern(Group& group, std::optional<std::string> partition, std::optional<std::string> lock,
                 Amount weight, bool critical);
  void drop(Demand& demand);
  void use(Claim& claim) { ++claim.users; }
  void drop(Claim& claim);

  /// The clock has leapt ahead by that, and is not believed: rates and penalties go by the time before it.
  void disbelieve(Duration excess);
  /// It is believed now. What was started, and what is closed, is as old as it was before.
  void believe();
  Time believed(Time told) const { return time_after(told, -excess_); }

  struct Refusal {
    Limiter* by = nullptr;     ///< null: the rules have no room for it
    Time until = Time::max();  ///< not before; max(): until something is given back
  };
  /// May a job of that claim start? `who` may use what is kept for it. Nothing: it may.
  std::optional<Refusal> ask(const Claim& claim, Time now, const void* who);

  /// One of them starts: it counts until free(), and its rates are charged, unless it only `goes_on`.
  void take(Claim& claim, Time now, bool goes_on);
  /// It has returned.
  void free(Claim& claim);
  /// It was not started after all: its rates get back what they were charged at `at`.
  void refund(Claim& claim, Time at);
  /// What take() has just charged its rates is of a start that is to come: it counts until it comes.
  void postpone(Claim& claim, Time now);
  /// The start that was chosen then happens now, ...
  void start_postponed(Claim& claim, Time chosen, Time now);
  /// ... or never.
  void drop_postponed(Claim& claim, Time chosen);

  void hold(Demand& demand) { ++demand.lock->holders; }
  void release(Demand& demand);
  /// A response needs the lock, which is taken: Awaiting::called() when it is its turn.
  static std::uint64_t line_up(Demand& demand, Awaiting& in, Job& job);
  static void leave_line(Demand& demand, std::uint64_t ticket) { demand.lock->line.erase(ticket); }
  /// The one that was called has started, or it may not just now.
  static void starts(Demand& demand) { --demand.lock->called; }
  void passes_on(Demand& demand);

  /// Nothing more of its partition value starts until then, but critical jobs.
  void penalize(const Claim& claim, Time now, Time until) {
    penalize(*claim.group, *claim.partition, believed(now), believed(until));
  }

  /// So many jobs of that claim more, or less, are due.
  void note_due(Claim& claim, int change);

  /// Freed room is kept for `who` in each limiter of the claim that is short, unless it is for another.
  void keep_room(const Claim& claim, const void* who);
  void keep_no_room(const void* who);

  /// The throttlers may be asked again.
  void begin_round();
  /// Some shard waits for that.
  bool has_next_round() const { return !rounds_.go_on.empty(); }
  /// For tests: each is asked less often in a round. Before group_of().
  void ask_throttlers_at_most(std::size_t questions) { rounds_.most_questions = questions; }
  /// The throttler of its queue does not see it running any more.
  void run_ended(Group& group, const Job& job);
  /// ... as it was not started after all: no run has ended.
  static void run_recalled(Group& group, const Job& job);
  /// It may have something to start.
  void wake(ShardId shard) { woken_.insert(shard); }

  /// Shards that may have something to start, since the last call.
  std::set<ShardId> take_woken() { return std::exchange(woken_, {}); }
  /// They ask no more.
  void forget(GatedLanes& lanes);

  /// Calls `visit(Limiter&)` for all.
  template <class Visit>
  void each_limiter(Visit visit) const {
    const auto see = [&](const std::unique_ptr<Limiter>& limiter) {
      if (limiter) visit(*limiter);
    };
    for (const auto& [name, limiter] : named_slots_) see(limiter);
    for (const auto& [name, limiter] : named_rates_) see(limiter);
    for (const auto& [name, group] : groups_) {
      see(group->slots);
      see(group->rate);
      see(group->critical);
      for (const auto& [value, share] : group->shares) see(share);
      for (const auto& [value, partition] : group->partitions) {
        see(partition.slots);
        see(partition.rate);
        see(partition.penalty);
      }
    }
  }
  /// Calls `visit(std::string)` with the name of each rate that a start of that claim is charged to.
  template <class Visit>
  static void each_rate_of(const Claim& claim, Visit visit) {
    const auto& group = *claim.group;
    for (const auto* limiter : claim.limiters) {
      if (limiter->type != Limiter::Type::rate || limiter->is_penalty) continue;
      if (limiter == group.rate.get()) {
        visit(std::string(kRateOfQueue));
      } else if (limiter == claim.partition->rate.get()) {
        visit(std::string(kRateOfPartition) + claim.partition->value);
      } else {
        visit(std::string(kRateOfLimit) + limiter->name);
      }
    }
  }
  /// What is to be written of the rate or penalty of that name, by the clock as it is told: the next owner
  /// need not know that it has leapt. Nothing: it is over.
  std::optional<RateRecord> record(Group& group, const std::string& name) const;
  /// What was written before the clock leapt has times from before: it gets those of the clock as it is told.
  void tell(RateRecord& written, Time now) const;
  /// What an earlier owner wrote of them, by the clock as it is told; of several the union.
  void restore(Group& group, const RateRecord& told, Time now);
  /// It may have started more than it wrote: short rates start used up.
  void empty_rates(Group& group, Time told);
  /// The names of all that empty_rates() uses up.
  static std::vector<std::string> short_rates(const Group& group);
  /// A start of that claim is to be durable before it happens: else an owner that comes after a crash knows
  /// nothing of it for too long.
  static bool is_to_be_written(const Claim& claim);

 private:
  Claim& claim_of(Group& group, const std::string& value, Amount weight, bool critical,
                  bool wants_unknown_lock);
  Partition& partition_of(Group& group, const std::string& value);
  Time believed_start(Time at) const { return at > now_ ? believed(at) : at; }
  void penalize(Group& group, Partition& partition, Time now, Time until);
  std::unique_ptr<Limiter> make_rate(std::string name, const RateLimit& rate, bool by_turns);
  Duration grain_of(const Limiter& rate) const;
  void sweep(Group& group);
  Decimal limit_of(const std::string& name, Decimal stated) const;
  RateLimit rate_of(const std::string& name, const RateLimit& stated) const;
  void apply_changes(Group& group);
  static void look_at_room(Claim& claim);
  void changed(Limiter& limiter);
  void wake(GatedLanes& lanes);
  void lock_freed(Demand& demand);
  bool may_borrow(const Claim& claim, const Limiter& share) const;
  void shares_changed(Group& group);
  static Limiter* rate_named(Group& group, std::string_view name);

  std::size_t remembered_ = 0;  // by all rates; outlives them
  std::map<std::string, NamedLimit, std::less<>> named_;
  std::map<std::string, std::unique_ptr<Limiter>, std::less<>> named_slots_, named_rates_;
  std::map<std::string, LimitChange, std::less<>> changes_;
  std::map<std::string, LockSpace, std::less<>> locks_;
  std::map<std::string, std::unique_ptr<Group>, std::less<>> groups_;
  std::set<Limiter*> kept_;  // that keep room for somebody
  std::set<ShardId> woken_;
  std::uint64_t turns_ = 0;
  ThrottlerRounds rounds_;
  Time now_ = Time::min();            // the last one that was told, as it is believed
  Duration excess_{};                 // of what is told
  std::set<Duration> excess_before_;  // all that it was since the clock was believed last
};

/// The name of its locks.
inline const std::string& lock_name_of(const QueueOptions& queue) {
  return queue.lock_name.empty() ? queue.name : queue.lock_name;
}
/// Some of its jobs have locks.
bool has_locks(const QueueOptions& queue);
/// Its jobs are held to limits or locks.
bool has_gates(const QueueOptions& queue);
/// The placement groups that these make: queues that share one are on one node.
std::vector<std::string> groups_of(const QueueOptions& queue);

}  // namespace ordo::domain
