#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "domain/job.h"

namespace ordo::domain {

/// When jobs became due, by priority: who has waited longest, whoever is first. Owns none of them; their time
/// and priority stay as they are meanwhile.
class DueTimes {
 public:
  void insert(const Job& job) { times_[job.priority].emplace(job.run_at, job.arrival()); }
  void erase(const Job& job) {
    const auto own = times_.find(job.priority);
    own->second.erase({job.run_at, job.arrival()});
    if (own->second.empty()) times_.erase(own);
  }
  /// The earliest of all; Time::max(): there is none.
  Time oldest() const {
    Time oldest = Time::max();
    each([&](std::int32_t, Time time) { oldest = std::min(oldest, time); });
    return oldest;
  }
  /// Calls `visit(priority, earliest)` for each priority.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& [priority, times] : times_) visit(priority, times.begin()->first);
  }

 private:
  std::map<std::int32_t, std::set<std::pair<Time, Seq>>> times_;
};

}  // namespace ordo::domain
