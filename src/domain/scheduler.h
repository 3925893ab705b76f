#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ordo/options.hpp>
#include <ordo/time.hpp>

#include "domain/shard_id.h"

namespace ordo::domain {

/// One shard that has due jobs of which one may start now.
struct StartableShard {
  ShardId id;
  std::string_view queue;          ///< its name, which outlives the scheduler
  std::uint32_t queue_place = 0;   ///< of its queue in the listed order
  Time due{};                      ///< the run_at of its oldest due job, not in the future
  std::uint32_t weight = 1;        ///< of its queue, >= 1
  int thread = -1;                 ///< the one its runs are bound to; -1: any
  bool needs_free_thread = false;  ///< its runs are not to wait for one

  bool operator==(const StartableShard&) const = default;
};

/// Chooses which shard a free thread serves next (rules: schedulers). One per pool; not thread-safe.
///
/// It is told of what changes: a choice costs no look at the shards that are not chosen. With `weighted` it
/// looks at the queues, and the user's function is shown all shards.
class Scheduler {
 public:
  /// Takes `choose_shard` or `scheduler` of the options.
  explicit Scheduler(const NodeOptions& options);

  /// The shard may be chosen from now on; whatever was said of it before is replaced.
  void put(const StartableShard& shard);
  void remove(ShardId id);

  /// The shard to serve among those whose thread `is_free` (of the pool's threads, -1: any of them). Nothing:
  /// there is none, or the user's function serves none. Nobody has had a turn before served() says so: what
  /// cannot be started after all costs its queue nothing.
  ///
  /// Throws Error{invalid_argument}: the user's function answered with an index out of range; or whatever it
  /// throws.
  std::optional<StartableShard> choose(Time now, const std::function<bool(int thread)>& is_free);

  /// As it was put; null: it may not be chosen.
  const StartableShard* find(ShardId id) const {
    const auto known = shards_.find(id);
    return known == shards_.end() ? nullptr : &known->second;
  }

  /// Something of the one that was chosen last has been started.
  void served(const StartableShard& chosen);

  /// Some shard needs a thread that is free.
  bool needs_free_thread() const { return direct_ > 0; }

  /// Of `strict`: a shard of the first queue that has something to start, on whatever thread; null: none has.
  const StartableShard* front() const;

 private:
  using Rank = std::array<std::int64_t, 4>;  // the lowest is served
  using Line = std::map<Rank, ShardId>;
  using Open = std::vector<const Line*>;

  Rank rank_of(const StartableShard& shard) const;
  std::optional<ShardId> first(const Open& open) const;
  std::optional<ShardId> next(const Open& open) const;
  std::optional<ShardId> of_richest(const Open& open);
  std::optional<ShardId> ask(const Open& open, Time now);

  SchedulerKind kind_;
  std::function<std::optional<std::size_t>(const std::vector<ShardLoad>&)> function_;
  std::vector<ShardLoad> loads_;  // what the function was shown last: kept for its memory
  std::unordered_map<ShardId, StartableShard> shards_;
  std::size_t direct_ = 0;                                       // that need a free thread
  std::map<int, Line> lines_;                                    // by thread
  Open open_;                                                    // of the last choice: kept for its memory
  std::optional<std::pair<std::uint32_t, std::uint32_t>> last_;  // sequential: place and shard served last
  std::map<std::uint32_t, std::int64_t> credits_;                // weighted: by place of the queue
  std::map<std::uint32_t, std::uint32_t> earning_;  // likewise: the weights of those that could start
};

}  // namespace ordo::domain
