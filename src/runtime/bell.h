#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include <ordo/time.hpp>

namespace ordo::runtime {

/// Wakes the thread that waits for it, or the next that does. Thread-safe.
class Bell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    rings_ = true;
    changed_.notify_all();
  }

  /// What it has rung for so far is looked after.
  void hush() {
    const std::lock_guard lock(mutex_);
    rings_ = false;
  }

  /// Until it has rung, `stop` is requested or the time is over. Whether it has rung.
  bool wait(const std::stop_token& stop, Duration at_most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, stop, at_most, [&] { return rings_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool rings_ = false;
};

}  // namespace ordo::runtime
