#pragma once

#include <cstddef>
#include <optional>

#include "runtime/engine_scope.h"

namespace ordo::runtime {

/// What the end of the leases asks of an engine: a node that cannot renew stops its runs before the leases
/// end, and then writes nothing any more.
class LeaseWatch {
 public:
  explicit LeaseWatch(const EngineScope& scope) : scope_(scope) {}

  enum class Leases { hold, ending, over };
  /// `is_idle`: nothing depends on them. `runs`: to be told of when they begin to end.
  Leases look(bool is_idle, std::size_t runs);
  /// Everything under them was dropped; so many runs go on.
  void dropped(std::size_t zombies);
  /// Those that went on have had time to end.
  void look_at_late_runs(std::size_t zombies);
  Duration next_look() const { return lapsed_at_ ? std::chrono::seconds{1} : Duration::max(); }

 private:
  const EngineScope& scope_;
  bool was_ending_ = false;            // at the last look
  std::optional<Duration> lapsed_at_;  // steady: while runs of before go on
};

}  // namespace ordo::runtime
