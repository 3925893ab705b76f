#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

namespace ordo::runtime {

/// Calls the user's code (events, deaths, hooks) away from the engine. admit() and post() are thread-safe and
/// do not block: behind code that does not return, news is dropped, and counted.
class Notifier {
 public:
  /// Each has room of its own: many may die in one moment, and nobody is to miss it for events.
  enum class Of : std::uint8_t { events, deaths };

  /// How many of `news` events or deaths there is room for; the others are dropped. post() brings those, and
  /// begin() is asked before each is told.
  std::size_t admit(Of what, std::size_t news) {
    const std::lock_guard lock(mutex_);
    auto& untold = untold_[place(what)];
    const auto fitting = closed_ ? 0 : std::min(news, kRoom[place(what)] - untold);
    untold += fitting;
    dropped_ += news - fitting;
    return fitting;
  }
  void post(std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;  // close() has counted its news
      calls_.push_back(std::move(call));
    }
    changed_.notify_one();
  }

  /// Before something is told: whether it may be. It may not behind close().
  bool begin(Of what) {
    const std::lock_guard lock(mutex_);
    if (!closed_) --untold_[place(what)];
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
    return std::exchange(dropped_, 0) + std::exchange(untold_[0], 0) + std::exchange(untold_[1], 0);
  }

  static constexpr std::size_t kEvents = 100'000, kDeaths = 1'000'000;

 private:
  static constexpr std::array kRoom = {kEvents, kDeaths};
  static std::size_t place(Of what) { return static_cast<std::size_t>(what); }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::function<void()>> calls_;
  std::array<std::size_t, kRoom.size()> untold_{};  // of calls that wait, and of those that were given away
  std::uint64_t dropped_ = 0;
  bool closed_ = false;
};

}  // namespace ordo::runtime
