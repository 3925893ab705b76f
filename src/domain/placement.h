#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/options.hpp>

#include "domain/shard_id.h"

namespace ordo::domain {

/// A node that is alive, and the queues it serves. One that stops serves none, so that it gives everything
/// away.
struct LiveNode {
  std::string id;
  std::set<std::string, std::less<>> queues;
  std::uint16_t level = 1;  ///< of the stored formats that it knows
};

/// Queues by the placement group they belong to, each named by its first queue. Two queues that one node or
/// another puts into the same group are linked, and so are those linked with them.
std::map<std::string, std::string, std::less<>> link_queues(
    std::span<const std::pair<std::string, std::string>> queues_and_groups);

/// A shard as the store lists it.
struct PlacedShard {
  ShardId shard;
  std::string_view queue;
  std::string_view owner;   ///< node id; empty, or of a node that is not alive: free
  std::string_view group;   ///< the placement group of its queue; empty: it stands alone
  std::uint16_t needs = 0;  ///< the level that its owner must know (domain/fields.h)
};

/// What all nodes see alike. Both lists are the caller's.
struct PlacementView {
  std::span<const PlacedShard> shards;  ///< all of them, in the order of the queues
  std::span<const LiveNode> nodes;      ///< in any order, no id twice
};

/// What one node does now. A shard that moves is released by its owner first; whoever it is for claims it
/// once it is seen free, so a node never claims what a live node owns.
struct PlacementPlan {
  std::vector<ShardId> claim;
  std::vector<ShardId> release;

  bool operator==(const PlacementPlan&) const = default;
};

/// All shards of a placement group belong to one node: a live one that serves all its queues. Where there is
/// none they belong to nobody. A shard that a newer version wrote to belongs to a node that knows it.
///
/// Automatic balance: where each shard belongs, as an index into the view's nodes beside its shards; -1: no
/// live node serves its queue.
///
/// The counts of a queue differ by at most 1 among the nodes that serve it. Within that the totals are evened
/// shard by shard: they differ by at most 1 among nodes that serve the same queues (by the size of a group
/// where there is one). As few shards as that takes leave their live owner; with several queues it may be one
/// more, for the search is greedy. Every node
/// finds the same answer in the same view, in whatever order it is listed.
std::vector<int> balanced_owners(const PlacementView& view);

/// What node `self` does under automatic balance. When to do it (how often a shard may move) is the caller's.
PlacementPlan plan_automatic(const PlacementView& view, std::string_view self);

/// What it does when the shards are dealt out to `node_count` numbered nodes; it is number `node`. A group
/// goes where its first shard is dealt, here and for a custom function.
/// Throws Error{invalid_argument}: the number is out of range.
PlacementPlan plan_by_node(const PlacementView& view, std::string_view self, std::uint32_t node_count,
                           std::uint32_t node);

/// What it does when the user's function says what it serves.
PlacementPlan plan_custom(const PlacementView& view, std::string_view self,
                          const std::function<bool(const std::string& queue, std::uint32_t shard)>& serves);

/// The one of the three that the options ask for.
PlacementPlan plan_placement(const PlacementView& view, std::string_view self, const NodeOptions& options);

}  // namespace ordo::domain
