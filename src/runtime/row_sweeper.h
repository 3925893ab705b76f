#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "domain/clock_guard.h"
#include "store/store.h"

namespace ordo::runtime {

/// Takes away rows of waits and unique keys whose time is over, so that they go though nobody pushes, and
/// cuts the periods of keys that were taken while the store's clock was ahead. One thread uses it.
class RowSweeper {
 public:
  RowSweeper(store::Store& store, Clock& clock) : store_(store), clock_(clock) {}

  /// A page of one queue; of the next one, once nothing of it is left. False: that is so. Throws
  /// Error{unavailable}.
  bool tick(const std::vector<std::string>& queues);

 private:
  bool cut_periods(const std::string& queue);

  store::Store& store_;
  Clock& clock_;
  domain::ClockGuard guard_;
  bool was_used_ = false;
  Duration calm_from_{};       // steady: a minute after the start, and after each leap
  std::set<std::string> cut_;  // queues whose periods were looked at since the clock was set back
  std::map<std::string, std::string> after_;  // in those that are looked at
  std::size_t next_ = 0;
};

}  // namespace ordo::runtime
