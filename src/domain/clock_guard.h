#pragma once

#include <chrono>
#include <optional>

#include <ordo/time.hpp>

namespace ordo::domain {

/// A store's clock that is ahead of what it was by more has leapt.
inline constexpr Duration kLeap = std::chrono::minutes{1};

/// Watches a store's clock with the help of a steady one. A clock that leaps ahead is believed only after a
/// minute, since what is deleted by a wrong time is lost. One that is set back is believed at once. Not
/// thread-safe.
class ClockGuard {
 public:
  /// By how much the clock has leapt since the last look, negative: back. Zero: it has not.
  Duration look(Time store, Duration steady);

  /// As of the last look.
  bool trusts() const { return trusts_; }
  /// How much later the clock is than what is believed, as of the last look. It changes only with leaps, and
  /// when the clock is believed.
  Duration excess() const { return excess_; }

 private:
  std::optional<Duration> ahead_;           // the store's clock, of the steady one
  Duration trusts_from_ = Duration::min();  // steady
  bool trusts_ = true;
  Duration excess_{};
};

}  // namespace ordo::domain
