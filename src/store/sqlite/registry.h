#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/sqlite/node_locks.h"
#include "store/sqlite/writer.h"
#include "store/store.h"

// Queues, nodes and leases. Every function with a Writer runs inside its transaction, the others inside a
// snapshot.
namespace ordo::store::sqlite {

/// `left_out` gets what is told of those that cannot be read.
QueueList read_queues(Connection& connection, std::vector<std::string>& left_out);
std::vector<NodeRow> read_nodes(Connection& connection, const NodeLocks& locks);
std::vector<ShardRow> read_shards(Connection& connection);

std::vector<QueueDefinition> define_queues(Writer& writer, std::span<const QueueWish> queues);
bool pause_queue(Writer& writer, std::string_view name, bool paused);
bool remove_queue(Writer& writer, std::string_view name);
bool close_queue(Writer& writer, std::string_view name);
bool replace_queue(Writer& writer, std::string_view name, std::uint32_t by);

void join_node(Writer& writer, const std::string& node, const std::string& facts);
bool renew_node(Writer& writer, const std::string& node);
bool request_of_node(Writer& writer, const std::string& node, NodeRequest request);
bool has_node(Writer& writer, const std::string& node);
/// False: it has renewed since.
bool forget_node(Writer& writer, const NodeLocks& locks, const std::string& node,
                 std::optional<std::uint64_t> seen_renewals);

std::vector<Grant> acquire_shards(Writer& writer, const NodeLocks& locks, const std::string& node,
                                  std::uint64_t holder, std::span<const Claim> claims);
void release_shards(Writer& writer, std::span<const Release> ends);

}  // namespace ordo::store::sqlite
