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
  /// Each has room of its own: many may die in one moment, and nobody is to miss it for events.
  enum class Of : std::uint8_t { events, deaths };

  void post(Of what, std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      auto& waiting = what == Of::events ? events_ : deaths_;
      if (closed_ || waiting >= (what == Of::events ? kEvents : kDeaths)) {
        ++dropped_;
        return;
      }
      ++waiting;
      calls_.push_back(std::move(call));
    }
    changed_.notify_one();
  }

  /// Until there are calls; empty: asked to stop, and all have been made.
  std::vector<std::function<void()>> wait(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !calls_.empty(); });
    events_ = deaths_ = 0;
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

  static constexpr std::size_t kEvents = 10'000, kDeaths = 1'000'000;

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::function<void()>> calls_;
  std::size_t events_ = 0, deaths_ = 0;  // of these
  std::uint64_t dropped_ = 0;
  bool closed_ = false;
};

}  // namespace ordo::runtime
