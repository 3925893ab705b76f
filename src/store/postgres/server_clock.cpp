#include "store/postgres/server_clock.h"

#include <algorithm>

namespace ordo::store::postgres {

void ServerClock::learn(Time at, Duration asked) {
  const auto earliest = at.time_since_epoch() - clock_.steady();
  const auto latest = at.time_since_epoch() - asked;
  const std::lock_guard lock(mutex_);
  // Slow answers leave wide bounds and so move nothing; drift and jumps of the server's clock are followed.
  ahead_ = ahead_ ? std::clamp(*ahead_, earliest, latest) : earliest + (latest - earliest) / 2;
}

Time ServerClock::now() {
  const std::lock_guard lock(mutex_);
  return ahead_ ? Time{clock_.steady() + *ahead_} : clock_.wall();
}

}  // namespace ordo::store::postgres
