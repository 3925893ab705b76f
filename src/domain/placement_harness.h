#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "domain/placement.h"

namespace ordo::domain {

using Queues = std::set<std::string, std::less<>>;

/// A cluster whose nodes do what their plans say, one node at a time.
struct Cluster {
  std::vector<std::pair<std::string, std::uint32_t>> queues;  // name, shards
  std::map<std::string, Queues> nodes;
  std::map<ShardId, std::string> owners;  // also of dead nodes

  std::vector<PlacedShard> shards() const {
    std::vector<PlacedShard> list;
    for (std::uint32_t queue = 0; queue < queues.size(); ++queue) {
      for (std::uint32_t index = 0; index < queues[queue].second; ++index) {
        const ShardId shard{queue, index};
        const auto owner = owners.find(shard);
        list.push_back(
            {shard, queues[queue].first, owner == owners.end() ? "" : std::string_view(owner->second)});
      }
    }
    return list;
  }
  std::vector<LiveNode> live() const {
    std::vector<LiveNode> list;
    for (const auto& [id, served] : nodes) list.push_back({id, served});
    return list;
  }
  PlacementPlan plan(const std::string& node) const {
    const auto all = shards();
    const auto alive = live();
    return plan_automatic({all, alive}, node);
  }
  std::vector<std::string> targets() const {
    const auto all = shards();
    const auto alive = live();
    std::vector<std::string> ids;
    for (const auto owner : balanced_owners({all, alive}))
      ids.push_back(owner < 0 ? "" : alive.at(static_cast<std::size_t>(owner)).id);
    return ids;
  }
  /// Shards whose live owner serves them and has to give them away.
  int moves_needed() const {
    const auto all = shards();
    const auto wanted = targets();
    int moves = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto owner = nodes.find(std::string(all[i].owner));
      if (owner == nodes.end() || !owner->second.contains(all[i].queue)) continue;
      moves += wanted[i] != owner->first ? 1 : 0;
    }
    return moves;
  }

  /// Lets the nodes act in random order until none has anything to do. Returns how many shards were released.
  int settle(std::uint64_t seed = 1) {
    Random random(seed);
    std::vector<std::string> ids;
    for (const auto& [id, served] : nodes) ids.push_back(id);
    int released = 0;
    for (int round = 0; round < 10; ++round) {
      bool acted = false;
      for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
      for (const auto& id : ids) {
        const auto todo = plan(id);
        acted = acted || todo != PlacementPlan{};
        for (const auto& shard : todo.release) {
          EXPECT_EQ(owners.at(shard), id);
          owners.erase(shard);
        }
        for (const auto& shard : todo.claim) {
          EXPECT_FALSE(owners.contains(shard) && nodes.contains(owners.at(shard)))
              << "claimed from a live node";
          owners[shard] = id;
        }
        released += static_cast<int>(todo.release.size());
      }
      if (!acted) return released;
    }
    ADD_FAILURE() << "the plans do not come to rest, seed " << seed;
    return released;
  }

  int count(const std::string& node, std::optional<std::uint32_t> queue = {}) const {
    return static_cast<int>(std::ranges::count_if(owners, [&](const auto& entry) {
      return entry.second == node && (!queue || entry.first.queue == *queue);
    }));
  }

  /// Every shard that can be served is, and the counts are level.
  void expect_balanced() const {
    for (std::uint32_t queue = 0; queue < queues.size(); ++queue) {
      const auto& [name, size] = queues[queue];
      int low = std::numeric_limits<int>::max(), high = 0, all = 0;
      for (const auto& [id, served] : nodes) {
        const int owned = count(id, queue);
        all += owned;
        if (!served.contains(name)) {
          EXPECT_EQ(owned, 0) << id << " does not serve " << name;
          continue;
        }
        low = std::min(low, owned);
        high = std::max(high, owned);
      }
      if (low == std::numeric_limits<int>::max()) continue;  // nobody serves it
      EXPECT_EQ(all, static_cast<int>(size)) << name;
      EXPECT_LE(high - low, 1) << name;
    }
    for (const auto& [a, served_by_a] : nodes) {
      for (const auto& [b, served_by_b] : nodes) {
        if (served_by_a != served_by_b) continue;
        EXPECT_LE(count(a) - count(b), 1) << a << " " << b;
      }
    }
  }
};

inline Cluster cluster_of(int nodes, std::uint32_t shards) {
  Cluster cluster{.queues = {{"a", shards}}};
  for (int i = 0; i < nodes; ++i) cluster.nodes["n" + std::to_string(i)] = {"a"};
  cluster.settle();
  return cluster;
}

}  // namespace ordo::domain
