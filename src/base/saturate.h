#pragma once

#include <ordo/time.hpp>

namespace ordo {

/// Sums and differences that end at the limits instead of beyond them: `max()` stands for never.
inline Duration saturating_add(Duration a, Duration b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &sum)) return Duration{sum};
  return b.count() > 0 ? Duration::max() : Duration::min();
}

inline Time saturating_add(Time time, Duration delay) {
  return Time{saturating_add(time.time_since_epoch(), delay)};
}

inline Duration saturating_sub(Time a, Time b) {
  std::int64_t left = 0;
  const auto from = a.time_since_epoch().count(), less = b.time_since_epoch().count();
  if (!__builtin_sub_overflow(from, less, &left)) return Duration{left};
  return from > less ? Duration::max() : Duration::min();
}

inline Time saturating_sub(Time time, Duration less) {
  std::int64_t left = 0;
  if (!__builtin_sub_overflow(time.time_since_epoch().count(), less.count(), &left))
    return Time{Duration{left}};
  return less.count() > 0 ? Time::min() : Time::max();
}

}  // namespace ordo
