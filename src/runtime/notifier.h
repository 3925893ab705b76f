#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

namespace ordo::runtime {

/// Calls the user's code (events, deaths, hooks) away from the engine. post() is thread-safe and does not
/// block: behind code that does not return, calls are dropped, and counted.
class Notifier {
 public:
  void post(std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || calls_.size() >= kRoom) {
        ++dropped_;
        return;
      }
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

  /// How many were dropped since it was asked last.
  std::uint64_t take_dropped() {
    const std::lock_guard lock(mutex_);
    return std::exchange(dropped_, 0);
  }

  /// From now on everything is dropped. Returns how many calls have been, since it was asked last.
  std::uint64_t close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    return std::exchange(dropped_, 0) + std::exchange(calls_, {}).size();
  }

  static constexpr std::size_t kRoom = 10'000;

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::function<void()>> calls_;
  std::uint64_t dropped_ = 0;
  bool closed_ = false;
};

}  // namespace ordo::runtime
