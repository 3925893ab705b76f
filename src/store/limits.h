#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ordo::store {

/// read() ends at the first end of an append at or behind this many bytes.
inline constexpr std::size_t kReadBytes = 8u << 20;

inline constexpr std::uint32_t kMaxShards = 1u << 16;
inline constexpr std::size_t kMaxNameBytes = 255;

/// Throws Error{invalid_argument} unless a queue may have this name and number of shards.
void check_definition(std::string_view name, std::uint32_t shards);

/// Throws Error{invalid_argument}: an entry names a shard of a queue that does not exist (or not any more).
[[noreturn]] void fail_unknown_shard(std::uint32_t queue, std::uint32_t index);

/// Throws Error{invalid_argument} unless revive() was given one entry per number.
void check_revive(std::size_t nos, std::size_t entries);

}  // namespace ordo::store
