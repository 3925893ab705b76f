#pragma once

#include <algorithm>
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

  /// It tells of `news` events, or one death, and asks begin() before each.
  void post(Of what, std::function<void()> call, std::size_t news = 1) {
    {
      const std::lock_guard lock(mutex_);
      auto& waiting = what == Of::events ? events_ : deaths_;
      if (closed_ || waiting >= (what == Of::events ? kEvents : kDeaths)) {
        dropped_ += news;
        return;
      }
      ++waiting;
      untold_ += news;
      calls_.push_back(std::move(call));
    }
    changed_.notify_one();
  }

  /// Before something is told: whether it may be. It may not behind close().
  bool begin() {
    const std::lock_guard lock(mutex_);
    untold_ -= std::min<std::uint64_t>(untold_, 1);
    return !closed_;
  }
  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
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

  /// From now on everything is dropped, also what wait() has given away. Returns how much news has been,
  /// since it was asked last.
  std::uint64_t close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    calls_.clear();
    return std::exchange(dropped_, 0) + std::exchange(untold_, 0);
  }

  static constexpr std::size_t kEvents = 10'000, kDeaths = 1'000'000;

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::function<void()>> calls_;
  std::size_t events_ = 0, deaths_ = 0;  // of these
  std::uint64_t untold_ = 0;             // news of calls that wait, and of those that were given away
  std::uint64_t dropped_ = 0;
  bool closed_ = false;
};

}  // namespace ordo::runtime
