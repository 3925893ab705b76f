#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <boost/container/flat_set.hpp>

#include "domain/admission.h"
#include "domain/due_jobs.h"
#include "domain/due_times.h"
#include "domain/gated_lanes.h"
#include "domain/job.h"
#include "domain/key_table.h"
#include "domain/kind_table.h"
#include "domain/refused_jobs.h"
#include "domain/window.h"

namespace ordo::domain {

/// Who is next: every queued job's one place, but for those that settle (change_log.h). It is *later*, by
/// time, or *due*, in the lane of its kind and risk, or due and *parked* behind the job that has its key, or
/// *closed*, until a window of its own opens, or refused by the throttler (refused_jobs.h). The only code
/// that moves a job between them. Owns no jobs.
///
/// Where all kinds have the queue's windows, these close the lanes as they are, and a million jobs cost
/// nothing; else each job is held to its windows singly, so that a closed one leaves its key to others.
class JobOrder {
 public:
  JobOrder(DueBefore before, const KindTable& kinds, KeyTable& keys)
      : before_(before), kinds_(kinds), keys_(keys) {}
  ~JobOrder() { clear(); }
  JobOrder(const JobOrder&) = delete;
  JobOrder& operator=(const JobOrder&) = delete;

  /// All jobs leave their places: the order is of no use after that.
  void clear();
  /// From now on jobs come that are held to limits or locks.
  void hold_to(Gates& gates, Group& group, ShardId shard);
  /// Those; null: there are none.
  const GatedLanes* gated() const { return gated_.get(); }
  /// The limits are others than before.
  void limits_changed() {
    if (gated_) gated_->all_changed();
  }
  /// Nothing of the shard may start just now: limits keep no room for it.
  void keep_no_room() {
    if (gated_) gated_->keep_no_room();
  }

  /// Jobs up to this entry were there when a node died.
  void set_witnesses(Seq through) { witness_through_ = std::max(witness_through_, through); }
  Seq witness_through() const { return witness_through_; }
  /// From now on jobs of several priorities come.
  void mix_priorities();
  bool mixes_priorities() const { return mixed_priorities_; }

  // --- a job's place ---
  /// A queued job that is nowhere takes its place.
  void place(Job& job, Time now);
  /// It leaves its place; its key stays with it until pass_key().
  void leave(Job& job);
  /// How freely it may start, by what has crashed.
  Risk risk_of(const Job& job, Time now) const;
  /// It leaves its place to run, whoever would be first by the rules, and has its key.
  void take_key(Job& job);
  /// The next of its key's line comes up, if this job had the key.
  void pass_key(Job& job, Time now);

  // --- the choice ---
  /// What has become due takes its place among the due ones.
  void promote(Time now);
  /// The job that starts first of those that may; none: none may. What has become due is looked for.
  Job* best(Time now, const Admission& admission);
  /// The throttler has refused the job that best() gave, or one that may start beside it.
  void skip(Job& job, Time now);
  void defer(Job& job, Time until, Time now);
  /// Those.
  const RefusedJobs& refused() const { return refused_; }
  /// The lane it stands in.
  DueJobs& lane(const Job& job) {
    return job.demand != nullptr ? gated_->lane_of(job)
                                 : (*lanes_[job.kind])[static_cast<std::size_t>(job.risk)];
  }
  /// The earliest run_at of the jobs that may start, whichever is first; none: none may.
  std::optional<Time> due_since(Time now, const Admission& admission);
  /// When the next job becomes due, or may start by its windows; none: nothing waits for a time.
  std::optional<Time> next_due(Time now);
  /// By the windows of the job and its kind, if it has any: when it may start next. Nothing: never.
  std::optional<Span> opening(const Job& job, Time now);
  /// Its time has come, its windows are open, and its limits and its lock admit it.
  bool may_start(const Job& job, Time now);

  // --- lists ---
  /// Calls `visit(const Job&)` for all that have a place here. Those of one lane, the parked ones, and those
  /// whose time is to come are visited in the order of starts, until it answers false; the rest in no order.
  template <class Visit>
  void each_in_order(Visit visit) const {
    for (const auto& lanes : lanes_) {
      for (const auto& lane : *lanes) lane.each(visit);
    }
    if (gated_) gated_->each_in_order(visit);
    parked_.each(visit);
    for (const Job& job : later_) {
      if (!visit(job)) break;
    }
    for (const Job* job : closed_) visit(*job);
    refused_.each([&](const Job& job) {
      visit(job);
      return true;
    });
  }
  /// So many that visits at least, whatever it is answered.
  std::size_t least_visits() const {
    return lanes_.size() * kRisks + (gated_ ? gated_->lines() : 0) + closed_.size() + refused_.size();
  }

  // --- counts ---
  std::size_t later() const { return later_.size(); }
  std::size_t retrying() const { return retrying_; }     ///< of those
  std::size_t parked() const { return parked_.size(); }  ///< due ones whose key is taken
  /// Of a kind: those that wait for their retry, and those that would start if it had code, threads and room.
  struct OfKind {
    std::size_t retrying = 0, due = 0;
  };
  OfKind of_kind(std::uint16_t kind) const { return kind < by_kind_.size() ? by_kind_[kind] : OfKind{}; }
  /// Jobs whose time has come, and that wait for a window; of `due`, which are all whose time has come.
  std::size_t closed(std::size_t due, Time now) { return has_closed_lanes(now) ? due : closed_.size(); }
  /// ... that only wait for marked runs of their node; not where windows close all.
  std::size_t refused(const MarkedCompany& company, Time now);
  /// ... and that the throttler has refused; not where windows close all.
  std::size_t refused(Time now) { return has_closed_lanes(now) ? 0 : refused_.size(); }
  /// The earliest run_at of all that have a place here; Time::max(): there is none.
  Time oldest(Time now);
  /// Of those that are due and not closed, the earliest by priority: run_at, or when its window opened. The
  /// `most` that wait longest, of the most urgent priorities.
  std::map<std::int32_t, Time> oldest_due(Time now, std::size_t most);

 private:
  using Lanes = std::array<DueJobs, kRisks>;

  void arrive(Job& job, Time now);
  void shut(Job& job, const std::optional<Span>& opening, Time now);
  void keep_key(Job& job);
  bool ask_again(Time now, const Admission& admission);
  void insert(Job& job, Time now);
  WindowClock& windows_of(std::uint16_t kind);
  OfKind& count_of(const Job& job);
  bool is_bound(const Job& job);
  bool is_in_time(const Job& job, Time now);
  bool has_closed_lanes(Time now);
  bool has_due() const { return !busy_.empty() || (gated_ && !gated_->empty()); }
  void take_out(Job& job);
  void park(Line& line, Job& job);
  template <class Visit>
  void each_admitted(const Admission& admission, Visit visit);

  DueBefore before_;
  const KindTable& kinds_;
  KeyTable& keys_;
  std::vector<std::unique_ptr<Lanes>> lanes_;       // by kind
  boost::container::flat_set<std::uint16_t> busy_;  // kinds that have due jobs in these
  std::unique_ptr<GatedLanes> gated_;
  Throttle* throttle_ = nullptr;  // null: its queue has none
  ShardId shard_;
  RefusedJobs refused_;
  LaterSet later_;
  std::set<Job*, OpensBefore> closed_;
  Time shut_at_ = Time::min();        // the latest time that a window was found closed
  std::vector<WindowClock> windows_;  // by kind
  DueJobs parked_{before_};           // behind all keys
  std::size_t retrying_ = 0;
  std::vector<OfKind> by_kind_;
  Seq witness_through_ = 0;
  bool mixed_priorities_ = false;
};

}  // namespace ordo::domain
