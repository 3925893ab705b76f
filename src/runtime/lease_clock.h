#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace ordo::runtime {

/// Until when this node may act as the owner of its shards, on its own steady clock. Thread-safe.
///
/// The keeper extends it and says when it was lost; the engine answers a loss by dropping its shards. Between
/// the two the lease is not valid, whatever was renewed meanwhile.
class LeaseClock {
 public:
  LeaseClock(Clock& clock, Duration lease) : clock_(clock), lease_(lease) {}

  bool valid() const { return !lost() && !is_over(); }
  /// It was not renewed in time.
  bool is_over() const { return clock_.steady() >= until(); }
  /// Most of the lease has passed without a renewal: runs are to stop.
  bool ending() const { return clock_.steady() >= until() - lease_ / 5; }
  /// Until ending() or, after that, the end; zero behind it.
  Duration left() const {
    const auto left = until() - clock_.steady();
    return std::max(left > lease_ / 5 ? left - lease_ / 5 : left, Duration{0});
  }
  /// What would be stopped at once is not started.
  bool may_start() const { return valid() && !ending(); }

  /// A renewal that was sent at `sent` has succeeded.
  void renewed(Duration sent) { until_us_.store((sent + lease_).count(), std::memory_order_release); }
  void lose() {
    losses_.fetch_add(1, std::memory_order_acq_rel);
    lost_.store(true, std::memory_order_release);
  }
  /// What was granted before a loss is void after it.
  std::uint64_t losses() const { return losses_.load(std::memory_order_acquire); }
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// The engine has dropped everything.
  void dropped() { lost_.store(false, std::memory_order_release); }

 private:
  Duration until() const { return Duration{until_us_.load(std::memory_order_acquire)}; }

  Clock& clock_;
  const Duration lease_;
  std::atomic<std::int64_t> until_us_{0};
  std::atomic<bool> lost_{false};
  std::atomic<std::uint64_t> losses_{0};
};

}  // namespace ordo::runtime
