#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "domain/scheduler.h"
#include "runtime/engine_scope.h"
#include "runtime/local_runs.h"
#include "runtime/runner.h"
#include "runtime/shard_host.h"

namespace ordo::runtime {

/// Which shard starts its next run on which pool and thread.
class Dispatcher {
 public:
  Dispatcher(const EngineScope& scope, const CodeTable& codes, ShardHost& host, LocalRuns& runs,
             Runner& runner, RunSink& sink)
      : scope_(scope), codes_(codes), host_(host), runs_(runs), runner_(runner), sink_(sink) {}

  /// So many at least.
  void add_pools(std::size_t count);
  /// Shards of affinity `shard` are dealt out as the rules say, in the listed order of their queues. One that
  /// is to move does so when nothing of it runs.
  void deal_threads();
  /// What may be chosen of the shards that are awake, and of all once something else is admitted.
  void look();
  /// Of this one.
  void look(OwnedShard& shard);
  /// It is served no more, or by other rules: what may be chosen of it is looked at anew.
  void forget(const ServedQueue& queue);
  /// Starts what has room now.
  void dispatch();
  /// How long until what waits in a pool may be overdue.
  Duration next_overdue() const;

 private:
  /// What may be chosen for a pool.
  struct Choice {
    Duration at{};  // steady: when all that waited was chosen anew
    std::unique_ptr<domain::Scheduler> scheduler;
    std::set<domain::ShardId> mixed;  // shards with jobs of several priorities that have runs
  };

  domain::Admission admission(const ServedQueue& queue) const;
  void take_turns();
  bool start_marked(domain::Risk risk);
  void take_back(const std::vector<RunName>& recalled);
  bool waits_before(std::size_t pool, std::uint32_t place) const;
  bool is_overtaken(std::size_t pool);
  void dispatch_pool(std::size_t pool);
  bool is_free(std::size_t pool, int thread) const;
  bool has_room(std::size_t pool, const OwnedShard& shard) const;
  OwnedShard& who_has_the_turn(std::size_t pool, OwnedShard& shard);
  bool start_one(std::size_t pool, OwnedShard& shard);

  const EngineScope& scope_;
  const CodeTable& codes_;
  ShardHost& host_;
  LocalRuns& runs_;
  Runner& runner_;
  RunSink& sink_;
  std::vector<Choice> choices_;                       // by pool
  std::uint64_t dealt_ = 0;                           // ShardHost::changes(), when threads were dealt
  bool is_to_move_ = false;                           // a shard, to another thread
  std::tuple<bool, bool, std::uint64_t> admitted_{};  // suspects, witnesses, CodeTable::changes()
};

}  // namespace ordo::runtime
