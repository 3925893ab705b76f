#include "domain/clock_guard.h"

#include <algorithm>
#include <utility>

namespace ordo::domain {

Duration ClockGuard::look(Time store, Duration steady) {
  const auto ahead = store.time_since_epoch() - steady;
  const auto before = std::exchange(ahead_, ahead).value_or(ahead);
  const auto leap = ahead - before;
  const bool has_leapt = leap > kLeap || leap < -kLeap;
  if (leap > kLeap) trusts_from_ = steady + kLeap;
  trusts_ = steady >= trusts_from_;
  if (has_leapt) {
    excess_ = std::max(excess_ + leap, Duration{});
  } else if (trusts_) {
    excess_ = {};
  }
  return has_leapt ? leap : Duration{};
}

}  // namespace ordo::domain
