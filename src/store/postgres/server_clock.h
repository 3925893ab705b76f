#pragma once

#include <mutex>
#include <optional>

#include "base/clock.h"

namespace ordo::store::postgres {

/// The server's clock without asking it: every answer that carries its time narrows down what this machine's
/// steady clock must be ahead or behind. Thread-safe.
class ServerClock {
 public:
  /// `clock` must outlive it.
  explicit ServerClock(Clock& clock) : clock_(clock) {}

  Duration steady() { return clock_.steady(); }

  /// The server said `at`, some time between `asked` (steady) and now.
  void learn(Time at, Duration asked);

  /// The machine's own time before the first answer.
  Time now();

 private:
  Clock& clock_;
  std::mutex mutex_;
  std::optional<Duration> ahead_;  // the server's time since the epoch less our steady time
};

}  // namespace ordo::store::postgres
