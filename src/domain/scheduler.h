#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/options.hpp>
#include <ordo/time.hpp>

namespace ordo::domain {

/// One shard that has due jobs of which one may start now. Blocked and empty shards are not in the list.
struct StartableShard {
  std::string_view queue;
  std::uint32_t queue_place = 0;  ///< of its queue in the listed order
  std::uint32_t shard = 0;
  Duration lag{};            ///< age of its oldest due job, >= 0
  std::uint32_t weight = 1;  ///< of its queue, >= 1
};

/// Chooses which shard a free thread serves next (rules: schedulers). One per pool; not thread-safe.
class Scheduler {
 public:
  /// Takes `choose_shard` or `scheduler` of the options.
  explicit Scheduler(const NodeOptions& options);

  /// The index of the shard to serve. Nothing: the list is empty, or the user's function serves none. Nobody
  /// has had a turn before served() says so: what cannot be started after all costs its queue nothing.
  ///
  /// The order of the list has no effect. One look at each shard; no allocation once the user's list has
  /// grown. Throws Error{invalid_argument}: the user's function answered with an index out of range; or
  /// whatever it throws.
  std::optional<std::size_t> choose(std::span<const StartableShard> shards);

  /// Something of the one that was chosen of this list has been started.
  void served(std::span<const StartableShard> shards, std::size_t chosen);

 private:
  std::optional<std::size_t> ask(std::span<const StartableShard> shards);
  std::uint32_t richest(std::span<const StartableShard> shards) const;

  SchedulerKind kind_;
  std::function<std::optional<std::size_t>(const std::vector<ShardLoad>&)> function_;
  std::vector<ShardLoad> loads_;  // what the function was shown last: kept for its memory
  std::optional<std::pair<std::uint32_t, std::uint32_t>> last_;  // sequential: place and shard served last
  struct Purse {
    std::int64_t credit = 0;
    std::uint64_t turn = 0;  // in which it earned last
  };
  std::map<std::uint32_t, Purse> purses_;  // weighted: by place of the queue
  std::uint64_t turn_ = 0;
};

}  // namespace ordo::domain
