#pragma once

#include <ordo/time.hpp>

namespace ordo {

/// The only source of time. Production reads the system, tests and the simulation move it by hand.
/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// UTC now. May jump either way.
  virtual Time wall() = 0;

  /// Time since boot, suspend included; never goes back. Leases and timeouts of runs use this one.
  virtual Duration steady() = 0;
};

/// The machine's clock (CLOCK_REALTIME, CLOCK_BOOTTIME). Lives for ever.
Clock& system_clock();

}  // namespace ordo
