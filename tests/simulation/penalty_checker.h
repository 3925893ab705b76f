#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "simulation/history.h"
#include "simulation/rate_checker.h"
#include "store/store.h"

namespace ordo::simulation {

/// The end of a run that gives a penalty is durable with it, and from then on nothing of its partition value
/// starts until it is over, by a clock that is right about spans: whoever owns the shards, and with the
/// exception that RateChecker has.
class PenaltyChecker {
 public:
  /// When a process has read that time of the store's clock; nothing: it is not known.
  using ReadAt = std::function<std::optional<Duration>(Time)>;

  PenaltyChecker(History& history, const RateChecker& rates) : history_(history), rates_(rates) {}
  /// Behind LossChecker::committed().
  void committed(const store::Delta& delta, const ReadAt& read_at);
  void started(const SeenRun& run) const;

 private:
  struct Closed {
    Duration from{}, until{};
  };
  void note(const std::string& value, const store::Delta& delta, Duration until);
  bool ends_in(const SeenJob& job, const store::Delta& delta) const;

  History& history_;
  const RateChecker& rates_;
  std::map<std::pair<std::size_t, std::string>, Closed> closed_;  // by queue and partition value
};

}  // namespace ordo::simulation
