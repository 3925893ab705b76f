#pragma once

#include <mutex>

#include "domain/clock_guard.h"

namespace ordo::store {

/// The guard of a store's clock, for all threads that use the store.
class WatchedClock {
 public:
  /// As Store has it. Both times are those of now.
  Duration excess(Time store, Duration steady) {
    const std::lock_guard lock(mutex_);
    guard_.look(store, steady);
    return guard_.excess();
  }

 private:
  std::mutex mutex_;
  domain::ClockGuard guard_;
};

}  // namespace ordo::store
