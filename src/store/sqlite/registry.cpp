// Queue definitions, node rows, leases: rare, so their statements are prepared where they are used.
#include "store/sqlite/registry.h"

#include <algorithm>
#include <unordered_map>

#include "store/limits.h"
#include "store/odd_rows.h"
#include "store/sqlite/schema.h"

namespace ordo::store::sqlite {
namespace {

constexpr const char* kFindQueue = "SELECT number, shards, paused, closed FROM queue WHERE name=?1";

std::optional<QueueDefinition> find_queue_row(Statement& row, std::string_view name) {
  if (!row.bind(name).step()) return std::nullopt;
  QueueDefinition queue{.number = static_cast<std::uint32_t>(row.number(0)),
                        .name = std::string(name),
                        .shards = static_cast<std::uint32_t>(row.number(1)),
                        .paused = row.number(2) != 0,
                        .closed = row.number(3) != 0};
  row.reset();
  return queue;
}

std::optional<QueueDefinition> find_queue_row(Connection& connection, std::string_view name) {
  Statement row(connection, kFindQueue);
  return find_queue_row(row, name);
}

}  // namespace

// -------------------------------------------------------------------------------------------------------
// queues

QueueList read_queues(Connection& connection, std::vector<std::string>& left_out) {
  QueueList list;
  list.version = static_cast<std::uint64_t>(connection.number("SELECT version FROM counter"));
  Statement rows(connection, "SELECT number, name, shards, paused, closed FROM queue ORDER BY number");
  while (rows.step()) {
    if (!is_definition(rows.bytes(1), rows.number(0), rows.number(2))) {
      left_out.push_back(odd_definition(rows.bytes(1)));
      continue;
    }
    list.queues.push_back({.number = static_cast<std::uint32_t>(rows.number(0)),
                           .name = std::string(rows.bytes(1)),
                           .shards = static_cast<std::uint32_t>(rows.number(2)),
                           .paused = rows.number(3) != 0,
                           .closed = rows.number(4) != 0});
  }
  return list;
}

std::vector<QueueDefinition> define_queues(Writer& writer, std::span<const QueueWish> queues) {
  auto& connection = writer.connection();
  Statement find(connection, kFindQueue);
  Statement insert(connection, "INSERT INTO queue(number, name, shards, paused) VALUES(?1, ?2, ?3, 0)");
  Statement insert_shard(connection, "INSERT INTO shard(id) VALUES(?1)");
  std::vector<QueueDefinition> definitions;
  for (const auto& [name, shards, takes_any, max_dead] : queues) {
    if (auto known = find_queue_row(find, name)) {
      definitions.push_back(*std::move(known));
      continue;
    }
    const QueueDefinition queue{
        .number = writer.new_queue_number(), .name = name, .shards = shards, .paused = false};
    insert.bind(queue.number, std::string_view(name), shards).run();
    for (std::uint32_t index = 0; index < shards; ++index) insert_shard.bind(pack(queue.number, index)).run();
    definitions.push_back(queue);
    writer.queue_made(queue);
  }
  return definitions;
}

bool pause_queue(Writer& writer, std::string_view name, bool paused) {
  Statement update(writer.connection(), "UPDATE queue SET paused=?2 WHERE name=?1");
  if (update.bind(name, std::int64_t{paused}).run() == 0) return false;
  writer.definitions_changed();
  return true;
}

namespace {

void drop_queue(Connection& connection, std::uint32_t queue) {
  const auto first = pack(queue, 0);
  const auto last = pack(queue, kMaxShards - 1);
  for (const auto* sql :
       {"DELETE FROM entry WHERE shard BETWEEN ?1 AND ?2", "DELETE FROM state WHERE shard BETWEEN ?1 AND ?2",
        "DELETE FROM dead WHERE shard BETWEEN ?1 AND ?2", "DELETE FROM kept WHERE shard BETWEEN ?1 AND ?2",
        "DELETE FROM shard WHERE id BETWEEN ?1 AND ?2"}) {
    Statement(connection, sql).bind(first, last).run();
  }
  Statement(connection, "DELETE FROM queue WHERE number=?1").bind(queue).run();
}

}  // namespace

bool remove_queue(Writer& writer, std::string_view name) {
  const auto queue = find_queue_row(writer.connection(), name);
  if (!queue) return false;
  Statement(writer.connection(), "DELETE FROM wait WHERE queue IN (?1, ?1 || '!')").bind(name).run();
  drop_queue(writer.connection(), queue->number);
  writer.definitions_changed();
  return true;
}

bool close_queue(Writer& writer, std::string_view name) {
  Statement update(writer.connection(), "UPDATE queue SET closed=1 WHERE name=?1");
  if (update.bind(name).run() == 0) return false;
  writer.definitions_changed();
  return true;
}

bool replace_queue(Writer& writer, std::string_view name, std::uint32_t by) {
  auto& connection = writer.connection();
  const auto queue = find_queue_row(connection, name);
  Statement next(connection, "SELECT 1 FROM queue WHERE number=?1");
  if (!queue || !queue->closed || queue->number == by || !next.bind(by).step()) return false;
  next.reset();
  drop_queue(connection, queue->number);
  Statement(connection, "UPDATE queue SET name=?2, paused=?3 WHERE number=?1")
      .bind(by, name, std::int64_t{queue->paused})
      .run();
  writer.definitions_changed();
  return true;
}

// --------------------------------------------------------------------------------------------------------
// nodes

std::vector<NodeRow> read_nodes(Connection& connection, const NodeLocks& locks) {
  std::vector<NodeRow> nodes;
  Statement rows(connection, "SELECT id, renewals, facts, request FROM node ORDER BY id");
  while (rows.step()) {
    nodes.push_back({.id = std::string(rows.bytes(0)),
                     .renewals = rows.unsigned_number(1),
                     .facts = std::string(rows.bytes(2)),
                     .request = request_of(rows.unsigned_number(3))});
  }
  for (auto& node : nodes) node.gone = locks.is_gone(node.id);
  return nodes;
}

void join_node(Writer& writer, const std::string& node, const std::string& facts) {
  Statement(writer.connection(),
            "INSERT INTO node(id, facts, renewals) VALUES(?1, ?2, ?3)"
            " ON CONFLICT DO UPDATE SET renewals=max(renewals+1, excluded.renewals), facts=excluded.facts")
      .bind(std::string_view(node), Blob{facts}, writer.now().time_since_epoch().count())
      .run();
}

bool renew_node(Writer& writer, const std::string& node) {
  Statement update(writer.connection(), "UPDATE node SET renewals=max(renewals+1, ?2) WHERE id=?1");
  return update.bind(std::string_view(node), writer.now().time_since_epoch().count()).run() == 1;
}

bool request_of_node(Writer& writer, const std::string& node, NodeRequest request) {
  Statement update(writer.connection(), "UPDATE node SET request=?2 WHERE id=?1");
  if (update.bind(std::string_view(node), static_cast<std::int64_t>(request)).run() == 0) return false;
  writer.wake_after_commit();
  return true;
}

bool has_node(Writer& writer, const std::string& node) {
  return Statement(writer.connection(), "SELECT 1 FROM node WHERE id=?1").bind(std::string_view(node)).step();
}

bool forget_node(Writer& writer, const NodeLocks& locks, const std::string& node,
                 std::optional<std::uint64_t> seen_renewals) {
  auto& connection = writer.connection();
  const bool is_gone = locks.is_gone(node);
  Statement renewals(connection, "SELECT renewals FROM node WHERE id=?1");
  if (!renewals.bind(std::string_view(node)).step()) return true;
  if (seen_renewals && renewals.unsigned_number(0) != *seen_renewals) return false;
  renewals.reset();
  Statement(connection, "DELETE FROM node WHERE id=?1").bind(std::string_view(node)).run();
  Statement(connection, "UPDATE shard SET owner='', crashed=?2 WHERE owner=?1 AND owner<>''")
      .bind(std::string_view(node), std::int64_t{is_gone})
      .run();
  return true;
}

// -------------------------------------------------------------------------------------------------------
// leases

std::vector<ShardRow> read_shards(Connection& connection) {
  std::vector<ShardRow> shards;
  Statement rows(
      connection,
      "SELECT id, owner, token, batch, position, counts, dead, dead_trimmed FROM shard ORDER BY id");
  while (rows.step()) {
    shards.push_back({.shard = unpack(rows.number(0)),
                      .owner = std::string(rows.bytes(1)),
                      .token = rows.unsigned_number(2),
                      .batch = rows.unsigned_number(3),
                      .position = rows.unsigned_number(4),
                      .counts = std::string(rows.bytes(5)),
                      .dead = rows.unsigned_number(6),
                      .dead_trimmed = rows.unsigned_number(7)});
  }
  return shards;
}

namespace {

struct OwnerFacts {
  bool gone = false;
  std::optional<std::uint64_t> renewals;  // nothing: not registered
};

// Asks row and kernel once per owner, not per shard.
class OwnerBook {
 public:
  OwnerBook(Connection& connection, const NodeLocks& locks)
      : locks_(locks), renewals_(connection, "SELECT renewals FROM node WHERE id=?1") {}

  const OwnerFacts& of(const std::string& node) {
    const auto [place, is_new] = known_.try_emplace(node);
    if (is_new && renewals_.bind(std::string_view(node)).step()) {
      place->second = {.gone = locks_.is_gone(node), .renewals = renewals_.unsigned_number(0)};
      renewals_.reset();
    }
    return place->second;
  }

 private:
  const NodeLocks& locks_;
  Statement renewals_;
  std::unordered_map<std::string, OwnerFacts> known_;
};

}  // namespace

std::vector<Grant> acquire_shards(Writer& writer, const NodeLocks& locks, const std::string& node,
                                  std::uint64_t holder, std::span<const Claim> claims) {
  auto& connection = writer.connection();
  std::vector<Grant> grants;
  OwnerBook owners(connection, locks);
  if (!owners.of(node).renewals) return grants;
  Statement row(connection, "SELECT owner, token, batch, clean, crashed FROM shard WHERE id=?1");
  Statement take(connection,
                 "UPDATE shard SET owner=?2, token=?3, holder=?4, clean=0, crashed=0 WHERE id=?1");
  const auto now_us = static_cast<std::uint64_t>(writer.now().time_since_epoch().count());
  for (const auto& claim : claims) {
    const auto id = pack(claim.shard.queue, claim.shard.index);
    if (!writer.has_shard(claim.shard) || !row.bind(id).step()) continue;
    const std::string owner(row.bytes(0));
    const auto token = row.unsigned_number(1);
    const Grant grant{.shard = claim.shard,
                      .lease = {.token = std::max(token + 1, now_us), .holder = holder},
                      .batch = row.unsigned_number(2),
                      .head = writer.head(),
                      .clean = row.number(3) != 0,
                      .crashed = row.number(4) != 0 || (!owner.empty() && owners.of(owner).gone)};
    row.reset();
    if (owner != claim.seen_owner || token != claim.seen_token) continue;
    if (!owner.empty()) {
      const auto& facts = owners.of(owner);
      if (!facts.gone && facts.renewals && *facts.renewals != claim.seen_renewals) continue;
    }
    take.bind(id, std::string_view(node), grant.lease.token, holder).run();
    grants.push_back(grant);
  }
  return grants;
}

void release_shards(Writer& writer, std::span<const Release> ends) {
  Statement release(writer.connection(),
                    "UPDATE shard SET owner='', clean=?4, crashed=?5"
                    " WHERE id=?1 AND token=?2 AND holder=?3 AND owner<>''");
  for (const auto& [shard, lease, clean, crashed] : ends) {
    if (!writer.has_shard(shard)) continue;
    release.bind(pack(shard.queue, shard.index), lease.token, lease.holder, std::int64_t{clean},
                 std::int64_t{crashed});
    release.run();
  }
}

}  // namespace ordo::store::sqlite
