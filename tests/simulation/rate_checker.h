#pragma once

#include <map>
#include <string>
#include <vector>

#include "simulation/history.h"

namespace ordo::simulation {

/// At most `limit` starts in any span of `per`, spaced where there is a `burst`, by a clock that is right
/// about spans, whoever owned the shards and however often the store's clock has leapt: unless an owner has
/// ended and has written nothing since it leapt, as then nobody can know.
class RateChecker {
 public:
  explicit RateChecker(History& history) : history_(history) {}
  /// A run was handed over, which is among those of the history.
  void started(const SeenRun& run);
  /// Somebody takes the shard over.
  void granted(ShardId shard);
  /// What was written was made by a clock that was read then.
  void committed(ShardId shard, Duration read_at) { written_[shard] = read_at; }
  /// Starts and penalties of the queue until then may be forgotten.
  Duration forgotten(std::size_t queue) const;

 private:
  template <class Counts>
  void look(const SeenRun& run, const RateLimit& rate, const std::string& whose, Counts counts);
  void look_at_spacing(const SeenRun& run, const RateLimit& rate, const std::string& whose,
                       const std::vector<Duration>& starts);

  History& history_;
  std::map<ShardId, Duration> written_;
  std::map<std::size_t, Duration> forgotten_;  // by queue: starts until then may be
  Duration granted_at_{};                      // some shard, last
};

}  // namespace ordo::simulation
