#include "domain/splitter.h"

#include <string>

#include <ordo/error.hpp>

namespace ordo::domain {

std::vector<std::vector<ShardId>> transposed_groups(std::span<const ShardId> list, std::uint32_t count) {
  if (count == 0)
    throw Error(ErrorKind::invalid_argument, "cannot split shards into 0 groups: give 1 or more");
  std::vector<std::vector<ShardId>> groups(count);
  for (std::size_t i = 0; i < list.size(); ++i) groups[i % count].push_back(list[i]);
  return groups;
}

std::vector<std::vector<ShardId>> split_by_threads(std::span<const ShardId> list, std::uint32_t threads) {
  auto groups = transposed_groups(list, threads);
  if (list.size() < groups.size()) groups.resize(list.size());  // the empty ones come last
  return groups;
}

std::vector<ShardId> shards_of_node(std::span<const ShardId> list, std::uint32_t node_count,
                                    std::uint32_t node) {
  if (node >= node_count) {
    throw Error(ErrorKind::invalid_argument,
                "cannot split shards for node number " + std::to_string(node) + " of " +
                    std::to_string(node_count) +
                    " nodes: the first node has number 0, the last one is one below the count");
  }
  std::vector<ShardId> mine;
  for (std::size_t i = node; i < list.size(); i += node_count) mine.push_back(list[i]);
  return mine;
}

}  // namespace ordo::domain
