#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/shard_id.h"

namespace ordo::domain {

// A splitter deals out a list of shards that stands in the order of the queues (A0, A1, B0, …): item i goes
// to group i mod n. A user's own function takes its place at the caller.

/// `count` groups; those of a short list are empty. Throws Error{invalid_argument}: `count` is 0.
std::vector<std::vector<ShardId>> transposed_groups(std::span<const ShardId> list, std::uint32_t count);

/// Which shards go to which thread: at most `threads` groups, none of them empty.
/// Throws Error{invalid_argument}: `threads` is 0.
std::vector<std::vector<ShardId>> split_by_threads(std::span<const ShardId> list, std::uint32_t threads);

/// All shards of node number `node` of `node_count` nodes that share the list; these are split by its
/// threads. Throws Error{invalid_argument}: `node` is not in 0..node_count - 1.
std::vector<ShardId> shards_of_node(std::span<const ShardId> list, std::uint32_t node_count,
                                    std::uint32_t node);

}  // namespace ordo::domain
