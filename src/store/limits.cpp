#include "store/limits.h"

#include <string>

#include <ordo/error.hpp>

namespace ordo::store {

void check_definition(std::string_view name, std::uint32_t shards) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    throw Error(ErrorKind::invalid_argument, "a queue's name has 1 to " + std::to_string(kMaxNameBytes) +
                                                 " bytes, not " + std::to_string(name.size()));
  }
  if (shards == 0 || shards > kMaxShards) {
    throw Error(ErrorKind::invalid_argument, "queue '" + std::string(name) + "' wants " +
                                                 std::to_string(shards) + " shards: use 1 to " +
                                                 std::to_string(kMaxShards));
  }
}

void fail_unknown_shard(std::uint32_t queue, std::uint32_t index) {
  throw Error(ErrorKind::invalid_argument,
              "cannot append to shard " + std::to_string(index) + " of queue number " +
                  std::to_string(queue) +
                  ": there is no such queue (was it removed?); read the queues again");
}

void check_revive(std::size_t nos, std::size_t entries) {
  if (nos == entries) return;
  throw Error(ErrorKind::invalid_argument,
              "revive needs one entry per dead payload: " + std::to_string(entries) + " entries for " +
                  std::to_string(nos) + " payloads");
}

}  // namespace ordo::store
