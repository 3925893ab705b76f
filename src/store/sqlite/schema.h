#pragma once

#include <cstdint>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace ordo::store::sqlite {

/// "Ord1" in ASCII, in the file's header: this database is ours.
inline constexpr std::int64_t kApplicationId = 0x4f726431;

/// schema.sql (cmake/embed.cmake).
extern const char* const kSchemaSql;

/// The version that this build makes and reads, in PRAGMA user_version.
std::int64_t schema_version();

/// Throws Error{unsupported} for another version, Error{corrupt} for what is no database,
/// Error{invalid_argument} for another program's, Error{unavailable} for what this user may not write. Writes
/// nothing.
void check_ours(Connection& connection);

/// Makes a new file Ordo's. Under the file lock. Throws as check_ours().
void ensure_schema(Connection& connection);

/// A shard's id as one number, in the order of ShardId.
constexpr std::int64_t pack(std::uint32_t queue, std::uint32_t index) {
  return static_cast<std::int64_t>(std::uint64_t{queue} << 16 | index);
}
constexpr ShardId unpack(std::int64_t shard) {
  return {.queue = static_cast<std::uint32_t>(shard >> 16),
          .index = static_cast<std::uint32_t>(shard & 0xffff)};
}

}  // namespace ordo::store::sqlite
