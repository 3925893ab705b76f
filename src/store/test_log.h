#pragma once

#include <span>
#include <utility>

#include "store/store.h"

namespace ordo::store {

/// Until a test gives up; nothing waits so long.
inline constexpr Duration kPatience = std::chrono::seconds{60};
/// How long something waits that a test must wake: it must not end by itself while the test is patient.
inline constexpr Duration kUnlessWoken = kPatience + std::chrono::seconds{30};

/// Everything that the shards hold behind `after`, in one chunk. For tests.
inline LogChunk read_log(Store& store, std::span<const ShardId> shards, Seq after = 0) {
  const auto log = store.open_log();
  for (const auto shard : shards) log->add(shard, after);
  LogChunk all;
  for (bool at_end = false; !at_end;) {
    auto chunk = log->read(10'000);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) all.add(row, chunk.body(row));
  }
  return all;
}

}  // namespace ordo::store
