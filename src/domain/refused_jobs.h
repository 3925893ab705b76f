#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "base/time_text.h"
#include "domain/due_times.h"
#include "domain/job.h"

namespace ordo::domain {

/// Due jobs of one shard that the throttler of their queue has refused, until they are to be asked for again.
/// Owns none of them.
class RefusedJobs {
 public:
  static constexpr Duration kAskAgain = std::chrono::seconds{1};  // after a job was skipped

  /// `ends`: so many runs of the queue had ended.
  void skip(Job& job, Time now, std::uint64_t ends) {
    job.place = Place::skipped;
    job.more().opens = time_after(now, kAskAgain);
    job.extra->skipped_at = ends;
    skipped_.insert(&job);
    times_.insert(job);
  }
  void defer(Job& job, Time until) {
    job.place = Place::deferred;
    job.more().opens = until;
    deferred_.insert(&job);
    times_.insert(job);
  }
  void erase(Job& job) {
    (job.place == Place::skipped ? skipped_ : deferred_).erase(&job);
    times_.erase(job);
  }

  /// One whose time has come; null: none. Who was skipped under a clock that has gone back waits no longer.
  Job* next(Time now) const {
    if (!deferred_.empty() && (*deferred_.begin())->extra->opens <= now) return *deferred_.begin();
    if (skipped_.empty()) return nullptr;
    if ((*skipped_.begin())->extra->opens <= now) return *skipped_.begin();
    return (*skipped_.rbegin())->extra->opens > time_after(now, kAskAgain) ? *skipped_.rbegin() : nullptr;
  }
  /// One that was skipped when fewer runs had ended; null: none.
  Job* skipped_before(std::uint64_t ends) const {
    const bool is_any = !skipped_.empty() && (*skipped_.begin())->extra->skipped_at < ends;
    return is_any ? *skipped_.begin() : nullptr;
  }
  /// When the next one's time comes; Time::max(): there is none.
  Time next_time() const {
    auto next = Time::max();
    for (const auto* jobs : {&skipped_, &deferred_}) {
      if (!jobs->empty()) next = std::min(next, (*jobs->begin())->extra->opens);
    }
    return next;
  }

  void clear() {
    skipped_.clear();
    deferred_.clear();
  }
  std::size_t size() const { return skipped_.size() + deferred_.size(); }
  /// Since when they are due.
  const DueTimes& times() const { return times_; }
  /// Calls `visit(const Job&)` for each until it answers false.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto* jobs : {&deferred_, &skipped_}) {
      for (const Job* job : *jobs) {
        if (!visit(*job)) return;
      }
    }
  }

 private:
  std::set<Job*, OpensBefore> skipped_, deferred_;
  DueTimes times_;
};

}  // namespace ordo::domain
