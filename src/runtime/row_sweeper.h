#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/store.h"

namespace ordo::runtime {

/// Takes away rows of waits and unique keys whose time is over, so that they go though nobody pushes. One
/// thread uses it.
class RowSweeper {
 public:
  RowSweeper(store::Store& store, Clock& clock) : store_(store), clock_(clock) {}

  /// A page of one queue; of the next one, once nothing of it is left. False: that is so. Throws
  /// Error{unavailable}.
  bool tick(const std::vector<std::string>& queues);

 private:
  bool trusts_the_clock();

  store::Store& store_;
  Clock& clock_;
  std::optional<Duration> ahead_;  // the store's time, of the steady one
  Duration trusts_from_{};         // steady
  std::size_t next_ = 0;
};

}  // namespace ordo::runtime
