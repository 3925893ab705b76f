#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/time_text.h"
#include "domain/due_times.h"
#include "domain/job.h"

namespace ordo::domain {

/// Due jobs of one shard that the throttler of their queue has refused, until they are to be asked for again:
/// deferred ones at their time, skipped ones when a run of the queue has ended or after a second. Owns none.
class RefusedJobs {
 public:
  static constexpr Duration kAskAgain = std::chrono::seconds{1};  // after a job was skipped

  /// `ends`: so many runs of the queue have ended.
  void skip(Job& job, Time now, std::uint64_t ends) {
    job.place = Place::skipped;
    job.more().opens = time_after(now, kAskAgain);
    job.extra->ends = ends;
    skipped_[{job.kind, job.risk}].insert(&job);
    ++skips_;
    times_.insert(job);
  }
  void defer(Job& job, Time until) {
    job.place = Place::deferred;
    job.more().opens = until;
    deferred_.insert(&job);
    times_.insert(job);
  }
  void erase(Job& job) {
    times_.erase(job);
    if (job.place == Place::deferred) {
      deferred_.erase(&job);
      return;
    }
    --skips_;
    const auto alike = skipped_.find({job.kind, job.risk});
    alike->second.erase(&job);
    if (alike->second.empty()) skipped_.erase(alike);
  }

  /// A deferred one whose time has come; null: none.
  Job* next_deferred(Time now) const {
    const bool is_any = !deferred_.empty() && (*deferred_.begin())->extra->opens <= now;
    return is_any ? *deferred_.begin() : nullptr;
  }
  bool has_skipped() const { return skips_ > 0; }
  /// The one that was skipped longest ago, of the kinds and risks that are admitted, if it is to be asked for
  /// again; null: none. `ends`: as many runs of the queue have ended by now.
  template <class Admits>
  Job* first_to_ask(Time now, std::uint64_t ends, Admits admits) const {
    Job* first = nullptr;
    for (const auto& [lane, jobs] : skipped_) {
      if (!admits(lane.first, lane.second)) continue;
      if (first == nullptr || SkippedBefore{}(*jobs.begin(), first)) first = *jobs.begin();
      // The clock went back since.
      if ((*jobs.rbegin())->extra->opens > time_after(now, kAskAgain)) return *jobs.rbegin();
    }
    const bool is_over = first != nullptr && (first->extra->opens <= now || first->extra->ends < ends);
    return is_over ? first : nullptr;
  }
  /// When the next one's time comes; Time::max(): there is none.
  Time next_time() const {
    auto next = deferred_.empty() ? Time::max() : (*deferred_.begin())->extra->opens;
    for (const auto& [lane, jobs] : skipped_) next = std::min(next, (*jobs.begin())->extra->opens);
    return next;
  }

  void clear() {
    skipped_.clear();
    deferred_.clear();
    skips_ = 0;
  }
  std::size_t size() const { return skips_ + deferred_.size(); }
  /// Since when they are due.
  const DueTimes& times() const { return times_; }
  /// Calls `visit(const Job&)` for each until it answers false.
  template <class Visit>
  void each(Visit visit) const {
    for (const Job* job : deferred_) {
      if (!visit(*job)) return;
    }
    for (const auto& [lane, jobs] : skipped_) {
      for (const Job* job : jobs) {
        if (!visit(*job)) return;
      }
    }
  }

 private:
  struct SkippedBefore {
    bool operator()(const Job* a, const Job* b) const {
      return a->extra->ends != b->extra->ends ? a->extra->ends < b->extra->ends : OpensBefore{}(a, b);
    }
  };

  std::map<std::pair<std::uint16_t, Risk>, std::set<Job*, SkippedBefore>> skipped_;  // by kind and risk
  std::size_t skips_ = 0;                                                            // of all these
  std::set<Job*, OpensBefore> deferred_;
  DueTimes times_;
};

}  // namespace ordo::domain
