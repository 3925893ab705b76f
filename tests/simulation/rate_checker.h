#pragma once

#include <string>

#include "simulation/history.h"

namespace ordo::simulation {

/// At most `limit` starts in any span of `per`, by a clock that is right about spans, whoever owned the
/// shards and however often the store's clock has leapt.
class RateChecker {
 public:
  explicit RateChecker(History& history) : history_(history) {}
  /// A run was handed over, which is among those of the history.
  void started(const SeenRun& run);

 private:
  template <class Counts>
  void look(const SeenRun& run, const RateLimit& rate, const std::string& whose, Counts counts);

  History& history_;
};

}  // namespace ordo::simulation
