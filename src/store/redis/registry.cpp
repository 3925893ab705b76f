// Queues, nodes, leases and the dead: each call is one script, or one transaction that only reads.
#include <algorithm>
#include <unordered_map>

#include "store/limits.h"
#include "store/redis/examine.h"
#include "store/redis/keys.h"
#include "store/redis/redis_store.h"
#include "store/redis/scripts.h"

namespace ordo::store::redis {
namespace {

template <class... Arguments>
CommandText script_call(const Script& script, const Arguments&... arguments) {
  CommandText commands;
  call(commands, script, 0, sizeof...(arguments));
  (commands.word(arguments), ...);
  return commands;
}

/// Flags: 1 paused, 2 closed.
void set_flags(QueueDefinition& queue, std::string_view digit) {
  queue.paused = digit == "1" || digit == "3";
  queue.closed = digit == "2" || digit == "3";
}

/// "number:shards:flags", as the registry keeps it.
QueueDefinition definition_of(const std::string& name, std::string_view text) {
  const auto first = text.find(':');
  const auto second = text.find(':', first + 1);
  const auto number = [](std::string_view digits) {
    return static_cast<std::uint32_t>(Reply{.type = Reply::Type::text, .text = std::string(digits)}.number());
  };
  QueueDefinition queue{.number = number(text.substr(0, first)),
                        .name = name,
                        .shards = number(text.substr(first + 1, second - first - 1))};
  set_flags(queue, text.substr(second + 1));
  return queue;
}

}  // namespace

// ------------------------------------------------------------------------------------------------- queues

QueueList RedisStore::queues() {
  CommandText commands;
  commands.add("MULTI");
  commands.add("HGET", kCountersKey, "version");
  commands.add("HGETALL", kQueuesKey);
  commands.add("EXEC");
  const auto replies = pipeline_.ask("read the queues", std::move(commands));
  QueueList list;
  list.version = replies.back().at(0).number();
  const auto& rows = replies.back().at(1).items;
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    list.queues.push_back(definition_of(rows[i].text, rows[i + 1].text));
  }
  std::sort(list.queues.begin(), list.queues.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return list;
}

QueueDefinition RedisStore::define(std::string_view name, std::uint32_t shards) {
  check_definition(name, shards);
  const auto reply = pipeline_.ask("define a queue", script_call(define_script(), name, shards)).at(0);
  QueueDefinition queue{.number = static_cast<std::uint32_t>(reply.at(0).number()),
                        .name = std::string(name),
                        .shards = static_cast<std::uint32_t>(reply.at(1).number())};
  set_flags(queue, reply.at(2).text);
  return queue;
}

bool RedisStore::set_paused(std::string_view name, bool paused) {
  const auto command = script_call(pause_script(), name, paused ? 1 : 0);
  return pipeline_.ask("pause a queue", command).at(0).integer == 1;
}

bool RedisStore::remove(std::string_view name) {
  return pipeline_.ask("remove a queue", script_call(remove_script(), name)).at(0).integer == 1;
}

bool RedisStore::close(std::string_view name) {
  return pipeline_.ask("close a queue", script_call(close_script(), name)).at(0).integer == 1;
}

bool RedisStore::replace(std::string_view name, std::uint32_t by) {
  return pipeline_.ask("replace a queue", script_call(replace_script(), name, by)).at(0).integer == 1;
}

// -------------------------------------------------------------------------------------------------- nodes

void RedisStore::join(const std::string& node, const std::string& facts) {
  check_node(node);
  pipeline_.ask("join", script_call(join_script(), std::string_view(node), std::string_view(facts)));
}

bool RedisStore::renew(const std::string& node) {
  return pipeline_.ask("renew", script_call(renew_script(), std::string_view(node))).at(0).integer == 1;
}

bool RedisStore::request(const std::string& node, NodeRequest request) {
  const auto command = script_call(request_script(), std::string_view(node), static_cast<int>(request));
  return pipeline_.ask("ask a node", command).at(0).integer == 1;
}

void RedisStore::leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) {
  check_node(node);
  const auto seen = seen_renewals ? std::to_string(*seen_renewals) : std::string();
  pipeline_.ask("leave", script_call(leave_script(), std::string_view(node), std::string_view(seen)));
}

std::vector<NodeRow> RedisStore::nodes() {
  CommandText commands;
  commands.add("MULTI");
  commands.add("HGETALL", kNodesKey);
  commands.add("HGETALL", kFactsKey);
  commands.add("HGETALL", kRequestsKey);
  commands.add("EXEC");
  const auto replies = pipeline_.ask("read the nodes", std::move(commands));
  std::map<std::string, NodeRow> rows;
  const auto& nodes = replies.back().at(0).items;
  for (std::size_t i = 0; i + 1 < nodes.size(); i += 2) {
    rows[nodes[i].text] = {.id = nodes[i].text, .renewals = nodes[i + 1].number()};
  }
  const auto& facts = replies.back().at(1).items;
  for (std::size_t i = 0; i + 1 < facts.size(); i += 2) {
    if (const auto row = rows.find(facts[i].text); row != rows.end()) row->second.facts = facts[i + 1].text;
  }
  const auto& requests = replies.back().at(2).items;
  for (std::size_t i = 0; i + 1 < requests.size(); i += 2) {
    const auto row = rows.find(requests[i].text);
    if (row != rows.end()) row->second.request = static_cast<NodeRequest>(requests[i + 1].number());
  }
  std::vector<NodeRow> sorted;
  for (auto& [id, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

// ------------------------------------------------------------------------------------------------- leases

std::vector<ShardRow> RedisStore::shards() {
  const auto reply = pipeline_.ask("read the shards", script_call(shards_script())).at(0);
  std::vector<ShardRow> rows;
  for (const auto& row : reply.items) {
    rows.push_back({.shard = {static_cast<std::uint32_t>(row.at(0).number()),
                              static_cast<std::uint32_t>(row.at(1).number())},
                    .owner = row.at(2).text,
                    .token = row.at(3).number(),
                    .batch = row.at(4).number(),
                    .position = row.at(5).number(),
                    .counts = row.at(6).text,
                    .dead = row.at(7).number(),
                    .dead_trimmed = row.at(8).number()});
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.shard < b.shard; });
  return rows;
}

std::vector<Grant> RedisStore::acquire(const std::string& node, std::uint64_t holder,
                                       std::span<const Claim> claims) {
  CommandText commands;
  call(commands, acquire_script(), 0, 2 + 5 * claims.size());
  commands.word(std::string_view(node));
  commands.word(holder);
  for (const auto& claim : claims) {
    commands.word(claim.shard.queue);
    commands.word(claim.shard.index);
    commands.word(std::string_view(claim.seen_owner));
    commands.word(claim.seen_token);
    commands.word(claim.seen_renewals);
  }
  const auto reply = pipeline_.ask("acquire shards", std::move(commands)).at(0);
  std::vector<Grant> grants;
  for (const auto& row : reply.items) {
    const auto& last = row.at(3);
    const auto& claim = claims[row.at(0).number()];
    grants.push_back({.shard = claim.shard,
                      .lease = {.token = row.at(1).number(), .holder = holder},
                      .batch = row.at(2).number(),
                      .head = last.is_nil() ? 0 : seq_of(last.text),
                      .clean = row.at(4).number() == 0,
                      .crashed = claim.takes_from_another(node)});
  }
  return grants;
}

void RedisStore::release(std::span<const std::pair<ShardId, Lease>> leases) {
  CommandText commands;
  call(commands, release_script(), 0, 4 * leases.size());
  for (const auto& [shard, lease] : leases) {
    commands.word(shard.queue);
    commands.word(shard.index);
    commands.word(lease.token);
    commands.word(lease.holder);
  }
  pipeline_.ask("release shards", std::move(commands));
}

// ----------------------------------------------------------------------------------------------- the dead

std::vector<DeadRow> RedisStore::dead(std::uint32_t queue, std::uint64_t after, std::size_t max_rows) {
  const auto list = queues();
  const auto found = std::find_if(list.queues.begin(), list.queues.end(),
                                  [&](const auto& known) { return known.number == queue; });
  if (found == list.queues.end() || max_rows == 0) return {};
  CommandText commands;
  commands.add("MULTI");
  for (std::uint32_t index = 0; index < found->shards; ++index) {
    const auto first = dead_count(after) + (index > dead_index(after) ? 0 : 1);
    commands.add("XRANGE", shard_key({queue, index}, "dead"), std::to_string(first), "+", "COUNT", max_rows);
  }
  commands.add("EXEC");
  const auto replies = pipeline_.ask("list the dead", std::move(commands));
  std::vector<DeadRow> rows;
  for (std::uint32_t index = 0; index < found->shards; ++index) {
    for (const auto& entry : replies.back().at(index).items) {
      const auto& id = entry.at(0).text;
      const Reply count{.type = Reply::Type::text, .text = id.substr(0, id.find('-'))};
      const auto& fields = entry.at(1);
      rows.push_back({.shard = {queue, index},
                      .no = dead_no(count.number(), index),
                      .at = Time{Duration{std::stoll(fields.at(1).text)}},
                      .bytes = fields.at(3).text});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.no < b.no; });
  if (rows.size() > max_rows) rows.resize(max_rows);
  return rows;
}

std::size_t RedisStore::erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) {
  CommandText commands;
  call(commands, erase_dead_script(), 0, 1 + 2 * nos.size());
  commands.word(queue);
  for (const auto no : nos) {
    commands.word(dead_index(no));
    commands.word(dead_count(no));
  }
  const auto erased = pipeline_.ask("erase the dead", std::move(commands)).at(0).integer;
  if (erased < 0) throw closed_queue(queue);
  return static_cast<std::size_t>(erased);
}

std::size_t RedisStore::revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                               std::vector<NewEntry> entries) {
  check_revive(nos.size(), entries.size());
  if (const auto refusal = size_refusal(entries)) std::rethrow_exception(refusal);
  std::vector<ShardId> logs;
  std::unordered_map<ShardId, std::size_t> places;  // in KEYS, from 1
  for (const auto& entry : entries) {
    if (places.emplace(entry.shard, logs.size() + 1).second) logs.push_back(entry.shard);
  }
  CommandText commands;
  call(commands, revive_script(), logs.size(), 1 + 4 * nos.size());
  for (const auto log : logs) commands.word(std::string_view(shard_key(log, "log")));
  commands.word(queue);
  for (std::size_t i = 0; i < nos.size(); ++i) {
    commands.word(dead_index(nos[i]));
    commands.word(dead_count(nos[i]));
    commands.word(places.at(entries[i].shard));
    commands.word(std::string_view(entries[i].bytes));
  }
  const auto answer = pipeline_.ask("revive the dead", std::move(commands)).at(0).integer;
  if (answer < 0) {
    const auto missing = logs[static_cast<std::size_t>(-answer - 1)];
    throw unknown_shard(missing.queue, missing.index);
  }
  return static_cast<std::size_t>(answer);
}

Time RedisStore::now() { return pipeline_.server_time(); }

std::vector<Finding> RedisStore::examine() {
  CommandText command;
  command.add("INFO");
  return examine_server(pipeline_.ask("examine the server", std::move(command)).at(0).text);
}

}  // namespace ordo::store::redis
