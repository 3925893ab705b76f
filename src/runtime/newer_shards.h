#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "domain/placement.h"
#include "runtime/node_facts.h"

namespace ordo::runtime {

/// The shards that this node had to leave to a newer one. Thread-safe.
class NewerShards {
 public:
  explicit NewerShards(Clock& clock) : clock_(clock) {}

  /// True: that is news.
  bool leave(domain::ShardId shard, std::uint16_t needs) {
    const std::lock_guard lock(mutex_);
    newer_[shard] = {needs, clock_.steady()};
    has_changed_ = true;
    return told_.insert(shard).second;
  }

  /// Takes those back that nobody else could own: what took a newer node may be done by now. Adds the others
  /// to `needs`.
  void look(std::span<const domain::LiveNode> live, std::map<domain::ShardId, std::uint16_t>& needs) {
    const std::lock_guard lock(mutex_);
    const auto tries_again = [&](const auto& entry) {
      const auto& [level, since] = entry.second;
      const bool is_hopeless =
          std::ranges::none_of(live, [&](const auto& node) { return node.level >= level; });
      return is_hopeless && clock_.steady() - since >= kTryEvery;
    };
    has_changed_ = has_changed_ || std::erase_if(newer_, tries_again) > 0;
    for (const auto& [shard, found] : newer_) needs[shard] = std::max(needs[shard], found.first);
  }

  /// Nothing: they are as they were.
  std::optional<std::vector<NewerShard>> take_changed() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(has_changed_, false)) return std::nullopt;
    std::vector<NewerShard> list;
    for (const auto& [shard, found] : newer_) list.push_back({shard, found.first});
    return list;
  }

 private:
  static constexpr Duration kTryEvery = std::chrono::minutes{1};  // if there is no newer node

  Clock& clock_;
  std::mutex mutex_;
  std::map<domain::ShardId, std::pair<std::uint16_t, Duration>> newer_;  // needs; steady: since when
  std::set<domain::ShardId> told_;
  bool has_changed_ = false;
};

}  // namespace ordo::runtime
