#include "store/limits.h"

#include <string>

#include "base/shorten.h"
#include "store/odd_rows.h"

namespace ordo::store {

void check_definition(std::string_view name, std::uint32_t shards) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    throw Error(ErrorKind::invalid_argument, "a queue's name has 1 to " + std::to_string(kMaxNameBytes) +
                                                 " bytes, not " + std::to_string(name.size()));
  }
  if (shards == 0 || shards > kMaxShards) {
    throw Error(ErrorKind::invalid_argument, "queue " + in_quotes(name) + " wants " + std::to_string(shards) +
                                                 " shards: use 1 to " + std::to_string(kMaxShards));
  }
}

Error unknown_shard(std::uint32_t queue, std::uint32_t index) {
  return Error(ErrorKind::invalid_argument,
               "cannot append to shard " + std::to_string(index) + " of queue number " +
                   std::to_string(queue) +
                   ": there is no such queue (was it removed or resharded?); read the queues again");
}

PartlyRefused::PartlyRefused(std::vector<domain::ShardId> taken)
    : Error(ErrorKind::unavailable, "cannot append to all shards of queue number " +
                                        std::to_string(taken.at(0).queue) +
                                        ": it was removed or resharded meanwhile; a part is stored"),
      taken_(std::move(taken)) {}

Error closed_queue(std::uint32_t queue) {
  return Error(ErrorKind::invalid_argument, "cannot change the dead of queue number " +
                                                std::to_string(queue) +
                                                ": it is being resharded; read the queues again");
}

Error too_much_to_append(std::size_t bytes) {
  return Error(ErrorKind::invalid_argument, "cannot append " + std::to_string(bytes) +
                                                " bytes in one call: send at most " +
                                                std::to_string(kMaxAppendBytes));
}

void check_node(std::string_view id) {
  if (is_node(id)) return;
  throw Error(ErrorKind::invalid_argument, "a node's id has 1 to " + std::to_string(kMaxNodeBytes) +
                                               " letters, digits, '.', '_' or '-', unlike " + in_quotes(id));
}

void check_wait_key(std::string_view key) {
  if (!key.empty() && key.size() <= kMaxNameBytes) return;
  throw Error(ErrorKind::invalid_argument, "what a job waits for has a key of 1 to " +
                                               std::to_string(kMaxNameBytes) + " bytes, not " +
                                               std::to_string(key.size()));
}

void check_revive(std::size_t nos, std::size_t entries) {
  if (nos == entries) return;
  throw Error(ErrorKind::invalid_argument,
              "revive needs one entry per dead payload: " + std::to_string(entries) + " entries for " +
                  std::to_string(nos) + " payloads");
}

}  // namespace ordo::store
