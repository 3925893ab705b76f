#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <vector>

namespace ordo::runtime {

/// Calls the user's code (events, deaths, hooks) away from the engine. post() is thread-safe and does not
/// block.
class Notifier {
 public:
  void post(std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
    }
    changed_.notify_one();
  }

  /// Until there are calls; empty: asked to stop, and all have been made.
  std::vector<std::function<void()>> wait(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !calls_.empty(); });
    return std::exchange(calls_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::function<void()>> calls_;
};

}  // namespace ordo::runtime
