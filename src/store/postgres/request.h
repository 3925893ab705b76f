#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "store/store.h"

namespace ordo::store::postgres {

struct AppendRequest {
  std::vector<NewEntry> entries;
  Completion done;
};

struct CommitRequest {
  std::vector<Delta> deltas;
  CommitCompletion done;
  std::vector<CommitResult> results{};  ///< one per delta, once it is written
};

/// Something for the committer to write, in a transaction that it may share with others.
using Request = std::variant<AppendRequest, CommitRequest>;

/// PostgreSQL has no unsigned numbers.
constexpr std::int64_t as_signed(std::uint64_t number) { return static_cast<std::int64_t>(number); }

/// A queue's number and a shard's index as one number, in the order of ShardId.
constexpr std::int64_t pack(ShardId shard) {
  return static_cast<std::int64_t>(std::uint64_t{shard.queue} << 16 | shard.index);
}
constexpr ShardId unpack(std::int64_t shard) {
  return {.queue = static_cast<std::uint32_t>(shard >> 16),
          .index = static_cast<std::uint32_t>(shard & 0xffff)};
}
/// pack() is for these only.
constexpr bool can_pack(ShardId shard) { return shard.index < 1u << 16; }

}  // namespace ordo::store::postgres
