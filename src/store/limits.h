#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ordo/error.hpp>

#include "domain/shard_id.h"

namespace ordo::store {

/// read() ends at the first end of an append at or behind this many bytes.
inline constexpr std::size_t kReadBytes = 8u << 20;

/// All bodies of one append, which a read must be able to take whole.
inline constexpr std::size_t kMaxAppendBytes = 256u << 20;

inline constexpr std::uint32_t kMaxShards = 1u << 16;
inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxNodeBytes = 64;

/// Throws Error{invalid_argument} unless a queue may have this name and number of shards.
void check_definition(std::string_view name, std::uint32_t shards);

/// Error{invalid_argument}: an entry names a shard of a queue that does not exist (or not any more), or is
/// closed.
Error unknown_shard(std::uint32_t queue, std::uint32_t index);

/// Error{unavailable}: shards have taken their entries of an append, and others refuse as unknown_shard()
/// says.
class PartlyRefused final : public Error {
 public:
  explicit PartlyRefused(std::vector<domain::ShardId> taken);

  const std::vector<domain::ShardId>& taken() const noexcept { return taken_; }

 private:
  std::vector<domain::ShardId> taken_;
};

/// Error{invalid_argument}: the dead of a closed queue are to be changed.
Error closed_queue(std::uint32_t queue);

/// Error{invalid_argument}: one append of more than kMaxAppendBytes.
Error too_much_to_append(std::size_t bytes);

/// Throws Error{invalid_argument} unless a node may have this id: 1 to 64 of A-Z a-z 0-9 . _ - (it becomes
/// part of file names and keys).
void check_node(std::string_view id);

/// Throws Error{invalid_argument} unless a wait may have this key: 1 to 255 bytes.
void check_wait_key(std::string_view key);

/// Throws Error{invalid_argument} unless revive() was given one entry per number.
void check_revive(std::size_t nos, std::size_t entries);

}  // namespace ordo::store
