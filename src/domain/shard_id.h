#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string_view>

namespace ordo::domain {

/// Position of an entry in a store's log: rises with every append, never used twice.
using Seq = std::uint64_t;

/// One shard of one queue. `queue` is the number the store gave the queue (never used twice).
struct ShardId {
  std::uint32_t queue = 0;
  std::uint32_t index = 0;

  auto operator<=>(const ShardId&) const = default;
};

/// The shard of a key: CRC-32 (zlib/IEEE) of its bytes modulo `shards` (>= 1).
std::uint32_t shard_of(std::string_view key, std::uint32_t shards);

}  // namespace ordo::domain

template <>
struct std::hash<ordo::domain::ShardId> {
  std::size_t operator()(const ordo::domain::ShardId& id) const noexcept {
    return std::hash<std::uint64_t>{}(std::uint64_t{id.queue} << 32 | id.index);
  }
};
