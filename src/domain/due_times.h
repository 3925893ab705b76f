#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "domain/job.h"

namespace ordo::domain {

/// When jobs became due: who has waited longest, of all and of each priority. Owns none of them; their time
/// and priority stay as they are meanwhile.
class DueTimes {
 public:
  void insert(const Job& job) {
    all_.emplace(job.run_at, job.arrival());
    by_priority_[job.priority].emplace(job.run_at, job.arrival());
  }
  void erase(const Job& job) {
    all_.erase({job.run_at, job.arrival()});
    const auto own = by_priority_.find(job.priority);
    own->second.erase({job.run_at, job.arrival()});
    if (own->second.empty()) by_priority_.erase(own);
  }
  /// The earliest; Time::max(): there is none.
  Time oldest() const { return all_.empty() ? Time::max() : all_.begin()->first; }
  /// Calls `visit(priority, earliest)` for each priority, the most urgent first, and for kMost of them at
  /// most.
  template <class Visit>
  void each(Visit visit) const {
    auto left = kMost;
    for (const auto& [priority, times] : by_priority_) {
      if (left-- == 0) return;
      visit(priority, times.begin()->first);
    }
  }

 private:
  static constexpr std::size_t kMost = 100;
  using Times = std::set<std::pair<Time, Seq>>;

  Times all_;
  std::map<std::int32_t, Times> by_priority_;
};

}  // namespace ordo::domain
