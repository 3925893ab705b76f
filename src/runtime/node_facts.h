#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/time.hpp>

namespace ordo::runtime {

/// Threads of a pool that nothing of the node's own occupies, and the queues whose jobs they take.
struct Room {
  std::uint32_t threads = 0;
  std::vector<std::string> queues;

  bool operator==(const Room&) const = default;
};

/// What a node says of itself in its row.
struct NodeFacts {
  std::string host;
  std::int64_t pid = 0;
  std::uint32_t threads = 0;
  Time started{};
  std::vector<std::pair<std::string, std::string>> kinds;  ///< (queue, kind) it has code for
  bool stopping = false;
  std::uint64_t session = 0;  ///< another one after each lapse of its leases
  std::vector<Room> rooms;    ///< for runs that others lend it; none while it is busy
  std::vector<std::pair<std::string, std::string>> groups;  ///< (queue, placement group)

  bool operator==(const NodeFacts&) const = default;
};

std::string encode(const NodeFacts& facts);
NodeFacts decode_node_facts(std::string_view bytes);  ///< throws Error{corrupt}

}  // namespace ordo::runtime
