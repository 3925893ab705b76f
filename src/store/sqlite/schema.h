#pragma once

#include <cstdint>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace ordo::store::sqlite {

/// "Ordo" in ASCII, in the file's header: this database is ours.
inline constexpr std::int64_t kApplicationId = 0x4f72646f;

/// The version this build writes, in PRAGMA user_version.
std::int64_t schema_version();

/// Throws Error{unsupported} for a newer version, Error{corrupt} for what is no database,
/// Error{invalid_argument} for another program's, Error{unavailable} for what this user may not write. Writes
/// nothing.
void check_ours(Connection& connection);

/// Makes a new file Ordo's, or an older one current; numbered steps, forward only. Under the file lock.
/// Throws as check_ours().
void bring_up_to_date(Connection& connection);

/// A shard's id as one number, in the order of ShardId.
constexpr std::int64_t pack(std::uint32_t queue, std::uint32_t index) {
  return static_cast<std::int64_t>(std::uint64_t{queue} << 16 | index);
}
constexpr ShardId unpack(std::int64_t shard) {
  return {.queue = static_cast<std::uint32_t>(shard >> 16),
          .index = static_cast<std::uint32_t>(shard & 0xffff)};
}

}  // namespace ordo::store::sqlite
