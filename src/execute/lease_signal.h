#pragma once

#include <mutex>
#include <vector>

#include <ordo/time.hpp>

namespace ordo::execute {

/// Tells the guards of worker processes how long their node's leases last, so that the processes end in time
/// even when the node is stopped (SIGSTOP). One for a node. Thread-safe; never blocks on a guard.
class LeaseSignal {
 public:
  /// The leases last for `time` from now. Until the first call they last for ever.
  void extend(Duration time);

  /// The socket of a guard, from its start to just before it is closed.
  void add(int guard);
  void remove(int guard);

 private:
  std::mutex mutex_;
  Duration end_ = Duration::max();  ///< on the steady clock
  std::vector<int> guards_;
};

}  // namespace ordo::execute
