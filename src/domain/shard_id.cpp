#include "domain/shard_id.h"

#include <zlib.h>

namespace ordo::domain {

std::uint32_t shard_of(std::string_view key, std::uint32_t shards) {
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(key.data()), key.size());
  return static_cast<std::uint32_t>(crc % shards);
}

}  // namespace ordo::domain
