#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "domain/admission.h"
#include "domain/due_jobs.h"
#include "domain/gates.h"
#include "domain/kind_table.h"

namespace ordo::domain {

/// Due jobs of one shard that are held to the same limits, of one kind and risk.
struct Lane {
  Lane(std::uint16_t kind_of_all, Risk risk_of_all, Claim& claim_of_all, DueBefore before)
      : kind(kind_of_all), risk(risk_of_all), claim(&claim_of_all), jobs(before) {}

  std::uint16_t kind;
  Risk risk;
  Claim* claim;
  DueJobs jobs;

  struct ClosedLanes* at = nullptr;  ///< where it waits; null: it is open
  std::uint64_t turn = 0;            ///< of its partition, as the order of those that wait knows it
  Time oldest = Time::max();         ///< as the order by age knows it
  const Job* passed = nullptr;       ///< its first job was refused for want of room, ...
  std::uint64_t takes = 0;           ///< ... when so many had taken of that limiter, ...
  std::optional<Time> passed_since;  ///< ... and the next one was then
};

struct LaneByHead {
  DueBefore before;
  bool operator()(const Lane* a, const Lane* b) const;
};

/// Where values of a partition compete, whose turn was longest ago.
struct LaneByTurn {
  LaneByHead head;
  bool by_turns = false;
  bool operator()(const Lane* a, const Lane* b) const;
};

/// Lanes of equal weight that wait for one limiter.
struct ClosedLanes {
  Limiter* by = nullptr;  ///< null: the rules have no room for them
  Time until = Time::max();
  std::set<Lane*, LaneByTurn> lanes;
};

/// The due jobs of a shard that are held to limits or locks: who may start first. A lane that a limiter
/// refuses is out of the choice until that limiter has changed, so what is blocked costs nothing. Owns no
/// jobs.
class GatedLanes {
 public:
  GatedLanes(DueBefore before, const KindTable& kinds, Gates& gates, Group& group, ShardId shard);
  ~GatedLanes();
  GatedLanes(const GatedLanes&) = delete;
  GatedLanes& operator=(const GatedLanes&) = delete;

  ShardId shard() const { return shard_; }
  /// From now on jobs of several priorities come.
  void mix();

  /// A due job with a demand that stands nowhere, or one that goes. Its place is `due` or `locked`.
  void insert(Job& job);
  void erase(Job& job);

  /// The job that starts first of those that may; null: none may.
  Job* best(Time now, const Admission& admission);
  /// It may start beside those that were taken since.
  bool admits(const Job& job, Time now);
  DueJobs& lane_of(const Job& job);
  /// Where its limiter is short: the shard that waits there with a value whose turn was longer ago. Nothing:
  /// this one has the turn.
  std::optional<ShardId> who_has_the_turn(const Job& job) const;
  /// When a rate lets the next one start; none: nothing waits for that.
  std::optional<Time> next_opening() const;

  bool empty() const { return jobs_ == 0; }
  std::size_t size() const { return jobs_; }
  std::size_t locked() const { return locked_; }
  /// Jobs in lanes that a limiter of slots, or of a rate, refuses.
  std::size_t blocked(bool by_rate) const { return by_rate ? blocked_by_rate_ : blocked_by_limit_; }
  /// Jobs that no limit refuses, and that only wait for marked runs of their node.
  std::size_t refused(const MarkedCompany& company) const;
  /// The earliest run_at; Time::max(): there is none.
  Time oldest() const;
  /// As DueJobs has it, of the lanes that wait longest.
  template <class Visit>
  void each_oldest(Visit visit) const {
    auto left = kLooked;
    for (const auto& [time, lane] : by_age_) {
      if (left-- == 0) return;
      lane->jobs.each_oldest(visit);
    }
    locked_times_.each(visit);
  }
  /// Due jobs that are refused, of one claim.
  struct Refused {
    const Claim& claim;
    std::size_t jobs;
    const Limiter* by;  ///< null: nothing ever admits them
    Time until;         ///< as Gates::Refusal has it
  };
  /// Calls `visit(Refused)` for each closed lane until it answers false.
  template <class Visit>
  void each_refused(Visit visit) const {
    for (const auto& [key, closed] : closed_) {
      for (const auto* lane : closed->lanes) {
        if (!visit(Refused{*lane->claim, lane->jobs.size(), key.first, closed->until})) return;
      }
    }
  }
  /// The same with `visit(const Lock&, jobs)` for each lock that jobs wait for.
  template <class Visit>
  void each_locked(Visit visit) const {
    for (const auto& [lock, queues] : waiting_) {
      std::size_t jobs = 0;
      for (const auto& [key, waiting] : queues) jobs += waiting.size();
      if (!visit(*lock, jobs)) return;
    }
  }

  /// Calls `visit(const Job&)` for the jobs of each lane, and of each line for a lock: in the order of
  /// starts, until it answers false.
  template <class Visit>
  void each_in_order(Visit visit) const {
    for (const auto& [key, lane] : lanes_) lane->jobs.each(visit);
    for (const auto& [lock, queues] : waiting_) {
      for (const auto& [key, jobs] : queues) {
        for (const Job* job : jobs) {
          if (!visit(*job)) break;
        }
      }
    }
  }
  /// So many lanes and lines those are, at most.
  std::size_t lines() const { return lanes_.size() + locked_; }

  /// Nothing of it may start just now: no room is kept for it.
  void keep_no_room();

  // --- what the gates tell ---
  void changed(Limiter& limiter);
  void all_changed();
  void freed(Lock& lock);

 private:
  static constexpr int kLooked = 100;
  using LaneKey = std::pair<std::pair<std::uint16_t, Risk>, const Claim*>;
  using LockQueue = std::map<LaneKey, std::set<Job*, DueBefore>>;  // by the lane they would stand in

  static LaneKey key_of(const Job& job) { return {{job.kind, job.risk}, job.demand->claim}; }
  Lane& lane_for(const Job& job);
  void enlist(Lane& lane);
  void delist(Lane& lane);
  void count(const Lane& lane, std::size_t jobs, bool more);
  void close(Lane& lane, const Gates::Refusal& refusal, Time now);
  void note_passed(Lane& lane, const Gates::Refusal& refusal, Time now);
  void forget_passed(Lane& lane);
  void note_age(Lane& lane);
  void wait_until(ClosedLanes& closed, Time until);
  ClosedLanes& closed_at(Limiter* limiter, Amount weight);
  Lane* first_open(const Admission& admission);
  Lane* first_of(ClosedLanes& closed, const Admission& admission);
  std::optional<std::pair<std::int32_t, std::uint64_t>> turn_at(Limiter& limiter) const;
  Lane* choose(const Admission& admission);
  bool competes(Lane& lane);
  bool admits(const Lane& lane, const Admission& admission) const;
  void lock(Job& job);
  void unlock_some();
  void reopen(Time now);
  void sweep();

  DueBefore before_;
  const KindTable& kinds_;
  Gates& gates_;
  Group& group_;
  ShardId shard_;
  bool mixed_ = false;
  std::map<LaneKey, std::unique_ptr<Lane>> lanes_;
  std::vector<LaneKey> emptied_;                     // that have no job left, ...
  std::vector<std::pair<Limiter*, Amount>> hollow_;  // ... or no lane
  std::set<Lane*, LaneByHead> open_;
  std::map<std::pair<Limiter*, Amount>, std::unique_ptr<ClosedLanes>> closed_;
  std::set<ClosedLanes*> again_;                   // whose limiter has changed since they were asked last
  std::set<std::pair<Time, ClosedLanes*>> timed_;  // those that wait for a time
  std::set<std::pair<Time, Lane*>> by_age_;
  std::map<Lock*, LockQueue> waiting_;
  std::vector<Lock*> freed_;
  std::set<Lane*> passed_;  // for which room may be kept
  DueTimes locked_times_;
  std::size_t jobs_ = 0, locked_ = 0, blocked_by_limit_ = 0, blocked_by_rate_ = 0;
  Time asked_at_ = Time::min();
};

}  // namespace ordo::domain
