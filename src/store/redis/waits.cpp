// Rows of waits. They are in a slot of their own, by the name of their queue: what a wait says to a shard is
// a step behind (store/waits.h).
#include <algorithm>
#include <cstdlib>

#include "store/limits.h"
#include "store/redis/keys.h"
#include "store/redis/redis_store.h"
#include "store/redis/scripts.h"

namespace ordo::store::redis {
namespace {

template <class... Arguments>
CommandText wait_command(const Script& script, std::string_view queue, const Arguments&... arguments) {
  CommandText command;
  call(command, script, 3, sizeof...(arguments));
  for (const auto* part : {"waits", "listed", "ages"}) command.word(std::string_view(waits_key(queue, part)));
  (command.word(arguments), ...);
  return command;
}

}  // namespace

std::optional<std::string> RedisStore::wait_row(std::string_view queue, std::string_view key) {
  check_wait_key(key);
  const auto slot = slots_.slot_of(waits_key(queue, "waits"));
  auto row =
      pipeline_.ask("read a wait", slot, wait_command(wait_row_script(), queue, key, excess().count())).at(0);
  return row.is_nil() ? std::nullopt : std::optional(std::move(row.text));
}

std::size_t RedisStore::sweep_rows(std::string_view queue, std::size_t max_rows) {
  const auto slot = slots_.slot_of(waits_key(queue, "waits"));
  auto command = wait_command(sweep_waits_script(), queue, max_rows, excess().count());
  return static_cast<std::size_t>(pipeline_.store("sweep waits", slot, std::move(command)).at(0).integer);
}

// What is over is in the list until somebody takes it away; few are.
std::vector<WaitRow> RedisStore::wait_rows(std::string_view queue, std::string_view after,
                                           std::size_t max_rows) {
  const auto slot = slots_.slot_of(waits_key(queue, "waits"));
  const auto now = believed_now();
  std::vector<WaitRow> rows;
  std::string from = after.empty() ? "-" : "(" + std::string(after);
  while (rows.size() < max_rows) {
    CommandText list;
    const auto limit = std::min<std::size_t>(max_rows - rows.size(), 1000);
    list.add("ZRANGEBYLEX", waits_key(queue, "listed"), from, "+", "LIMIT", 0, limit);
    const auto keys = pipeline_.ask("list waits", slot, std::move(list)).at(0).items;
    if (keys.empty()) break;
    CommandText read;
    for (const auto& key : keys) {
      read.add("HGET", waits_key(queue, "waits"), key.text);
      read.add("ZSCORE", waits_key(queue, "ages"), key.text);
    }
    const auto replies = pipeline_.ask("list waits", slot, std::move(read));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto& bytes = replies.at(2 * i);
      const auto& age = replies.at(2 * i + 1);
      const auto until =
          age.is_nil() ? Time::max()
                       : Time{Duration{static_cast<std::int64_t>(std::strtod(age.text.c_str(), nullptr))}};
      if (bytes.is_nil() || until <= now) continue;
      rows.push_back({.key = keys[i].text, .bytes = bytes.text, .listed = true, .until = until});
    }
    from = "(" + keys.back().text;
  }
  return rows;
}

namespace {

/// The bodies of the entries, by their logs in the order of their first ones.
std::vector<std::pair<ShardId, std::vector<std::string_view>>> bodies_by_log(
    const std::vector<NewEntry>& entries) {
  std::vector<std::pair<ShardId, std::vector<std::string_view>>> logs;
  for (const auto& entry : entries) {
    auto log = std::ranges::find(logs, entry.shard, [](const auto& each) { return each.first; });
    if (log == logs.end()) log = logs.insert(log, {entry.shard, {}});
    log->second.emplace_back(entry.bytes);
  }
  return logs;
}

void add_step(CommandText& command, std::string_view rows, const RowStep& step, Duration excess) {
  const auto& [row, seen, entries] = step;
  const auto logs = bodies_by_log(entries);
  call(command, step_row_script(), 3 + logs.size(), 7 + logs.size() + entries.size());
  for (const auto* part : {"waits", "listed", "ages"}) command.word(std::string_view(waits_key(rows, part)));
  for (const auto& [shard, bodies] : logs) command.word(std::string_view(shard_key(shard, "log")));
  const auto until = row.until == Time::max()   ? std::string()
                     : row.until == Time::min() ? std::string("gone")
                                                : std::to_string(row.until.time_since_epoch().count());
  command.word(std::string_view(row.key));
  command.word(seen ? 1 : 0);
  command.word(seen ? std::string_view(*seen) : std::string_view());
  command.word(std::string_view(row.bytes));
  command.word(row.listed ? 1 : 0);
  command.word(std::string_view(until));
  command.word(excess.count());
  for (const auto& [shard, bodies] : logs) {
    command.word(bodies.size());
    for (const auto body : bodies) command.word(body);
  }
}

}  // namespace

std::vector<RowResult> RedisStore::step_rows(std::string_view rows, std::vector<RowStep> steps) {
  const auto slot = slots_.slot_of(waits_key(rows, "waits"));
  for (const auto& step : steps) {
    check_wait_key(step.row.key);
    for (const auto& entry : step.entries) {
      if (slots_.slot_of(entry.shard) == slot) continue;
      throw Error(ErrorKind::unsupported,
                  "unique keys and sources need all of a queue in one slot of a Redis Cluster, and its "
                  "shards are in slots "
                  "of their own; use a single server, with Sentinel or without, or another store");
    }
  }
  if (steps.empty()) return {};
  const auto excess = this->excess();
  CommandText commands;
  for (const auto& step : steps) add_step(commands, rows, step, excess);
  std::vector<RowResult> results;
  for (const auto& reply : pipeline_.store("write a row beside the logs", slot, std::move(commands))) {
    RowResult result{static_cast<RowResult::What>(reply.at(0).integer), {}};
    if (reply.items.size() > 1 && !reply.at(1).is_nil()) result.there = reply.at(1).text;
    results.push_back(std::move(result));
  }
  return results;
}

void RedisStore::remove_waits(std::string_view queue) {
  for (const auto& rows : {std::string(queue), unique_rows(queue)}) {
    CommandText commands;
    commands.add("UNLINK", waits_key(rows, "waits"), waits_key(rows, "listed"), waits_key(rows, "ages"));
    pipeline_.ask("remove the waits of a queue", slots_.slot_of(waits_key(rows, "waits")),
                  std::move(commands));
  }
}

}  // namespace ordo::store::redis
