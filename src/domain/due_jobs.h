#pragma once

#include <cstddef>

#include "domain/due_times.h"
#include "domain/job.h"

namespace ordo::domain {

/// Due jobs, such as those of one kind and risk: who starts first, and who has waited longest. Owns none.
class DueJobs {
 public:
  explicit DueJobs(DueBefore before) : jobs_(before) {}

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }
  Job& first() { return *jobs_.begin(); }
  const Job& first() const { return *jobs_.begin(); }
  /// The earliest run_at; not of an empty one. As long as all have one priority, the first is the oldest.
  Time oldest() const { return mixed_ ? times_.oldest() : jobs_.begin()->run_at; }
  /// Calls `visit(priority, earliest run_at)` for each priority.
  template <class Visit>
  void each_oldest(Visit visit) const {
    if (mixed_) {
      times_.each(visit);
    } else if (!empty()) {
      visit(jobs_.begin()->priority, oldest());
    }
  }

  void insert(Job& job) {
    jobs_.insert(jobs_.end(), job);
    if (mixed_) times_.insert(job);
  }
  void erase(Job& job) {
    jobs_.erase(jobs_.iterator_to(job));
    if (mixed_) times_.erase(job);
  }
  void clear() { jobs_.clear(); }

  /// From now on jobs of several priorities come.
  void mix() {
    mixed_ = true;
    for (const Job& job : jobs_) times_.insert(job);
  }

  /// Calls `visit(const Job&)` for each, who starts first first, until it answers false.
  template <class Visit>
  void each(Visit visit) const {
    for (const Job& job : jobs_) {
      if (!visit(job)) return;
    }
  }
  auto from(Job& job) { return jobs_.iterator_to(job); }
  auto end() { return jobs_.end(); }

 private:
  DueSet jobs_;
  bool mixed_ = false;
  DueTimes times_;  // once they are mixed
};

}  // namespace ordo::domain
