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

  /// One round over these queues, of a page each. False: nothing is left just now. Throws Error{unavailable}.
  bool tick(const std::vector<std::string>& queues);

 private:
  bool trusts_the_clock();

  store::Store& store_;
  Clock& clock_;
  std::optional<Duration> ahead_;  // the store's time, of the steady one
  Duration trusts_from_{};         // steady
};

}  // namespace ordo::runtime
