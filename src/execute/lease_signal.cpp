#include "execute/lease_signal.h"

#include <algorithm>

#include "base/clock.h"
#include "execute/guard.h"

namespace ordo::execute {

void LeaseSignal::extend(Duration time) {
  const Duration now = system_clock().steady();
  const std::lock_guard lock(mutex_);
  end_ = time < Duration::max() - now ? now + time : Duration::max();
  for (const int guard : guards_) send_lease_end(guard, end_);
}

void LeaseSignal::add(int guard) {
  const std::lock_guard lock(mutex_);
  guards_.push_back(guard);
  send_lease_end(guard, end_);
}

void LeaseSignal::remove(int guard) {
  const std::lock_guard lock(mutex_);
  std::erase(guards_, guard);
}

}  // namespace ordo::execute
