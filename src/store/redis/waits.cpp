// Rows of waits. They are in a slot of their own, by the name of their queue: what a wait says to a shard is
// a step behind (store/waits.h). KEYS: waits, listed, ages.
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

// ARGV: key. Answers the bytes, or nothing.
const Script& wait_row_script() {
  static const Script script(R"lua(
local call = redis.call
local time = call('TIME')
local age = call('ZSCORE', KEYS[3], ARGV[1])
if age and tonumber(age) <= time[1] * 1000000 + time[2] then return false end
return call('HGET', KEYS[1], ARGV[1])
)lua");
  return script;
}

namespace {

constexpr const char* kRowsLua = R"lua(
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local function drop(gone)
  call('HDEL', KEYS[1], gone)
  call('ZREM', KEYS[2], gone)
  call('ZREM', KEYS[3], gone)
end
local function sweep(key)
  for _, gone in ipairs(call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%d', now), 'LIMIT', '0', '20')) do drop(gone) end
  local age = call('ZSCORE', KEYS[3], key)
  if age and tonumber(age) <= now then drop(key) end
end
local function put(key, bytes, listed, til)
  call('HSET', KEYS[1], key, bytes)
  if listed == '1' then call('ZADD', KEYS[2], '0', key) else call('ZREM', KEYS[2], key) end
  if til ~= '' then call('ZADD', KEYS[3], til, key) else call('ZREM', KEYS[3], key) end
end
)lua";

}  // namespace

// ARGV: key, 1 if something was seen, that, bytes, 1 if it is listed, µs or ''. Answers whether it was
// written. It takes some of those away whose time is over.
const Script& put_wait_script() {
  static const Script script(std::string(kRowsLua) + R"lua(
local key, has_seen, seen, bytes, listed, til = unpack(ARGV)
sweep(key)
local is = call('HGET', KEYS[1], key)
if has_seen == '1' then
  if is ~= seen then return 0 end
elseif is then
  return 0
end
put(key, bytes, listed, til)
return 1
)lua");
  return script;
}

// KEYS: waits, listed, ages, logs. ARGV: as above, where `gone` for µs takes the row away, then per log: how
// many entries, and their bytes. Answers 0 (done), 1 (another row) and its bytes, or 2 (no such log).
const Script& step_row_script() {
  static const Script script(std::string(kEntriesLua) + kRowsLua + R"lua(
local key, has_seen, seen, bytes, listed, til = unpack(ARGV, 1, 6)
sweep(key)
local is = call('HGET', KEYS[1], key)
if (has_seen == '1' and is ~= seen) or (has_seen ~= '1' and is) then return {1, is} end
if missing_log(4) then return {2, false} end
if til == 'gone' then drop(key) else put(key, bytes, listed, til) end
add_entries(4, 7)
return {0, false}
)lua");
  return script;
}

std::optional<std::string> RedisStore::wait_row(std::string_view queue, std::string_view key) {
  check_wait_key(key);
  const auto slot = slots_.slot_of(waits_key(queue, "waits"));
  auto row = pipeline_.ask("read a wait", slot, wait_command(wait_row_script(), queue, key)).at(0);
  return row.is_nil() ? std::nullopt : std::optional(std::move(row.text));
}

bool RedisStore::put_wait_row(std::string_view queue, const WaitRow& row,
                              const std::optional<std::string>& seen) {
  check_wait_key(row.key);
  CommandText look;
  look.add("HEXISTS", kQueuesKey, queue);
  if (ask_registry("look for a queue", std::move(look)).integer == 0) throw unknown_queue_of_wait(queue);
  const auto until =
      row.until == Time::max() ? std::string() : std::to_string(row.until.time_since_epoch().count());
  const auto slot = slots_.slot_of(waits_key(queue, "waits"));
  auto command = wait_command(put_wait_script(), queue, std::string_view(row.key), seen ? 1 : 0,
                              seen ? std::string_view(*seen) : std::string_view(),
                              std::string_view(row.bytes), row.listed ? 1 : 0, std::string_view(until));
  return pipeline_.store("write a wait", slot, std::move(command)).at(0).integer == 1;
}

// What is over is in the list until somebody takes it away; few are.
std::vector<WaitRow> RedisStore::wait_rows(std::string_view queue, std::string_view after,
                                           std::size_t max_rows) {
  const auto slot = slots_.slot_of(waits_key(queue, "waits"));
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
      if (bytes.is_nil() || until <= now()) continue;
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

void add_step(CommandText& command, std::string_view rows, const RowStep& step) {
  const auto& [row, seen, entries] = step;
  const auto logs = bodies_by_log(entries);
  call(command, step_row_script(), 3 + logs.size(), 6 + logs.size() + entries.size());
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
      throw Error(
          ErrorKind::unsupported,
          "unique keys need all of a queue in one slot of a Redis Cluster, and its shards are in slots "
          "of their own; use a single server, with Sentinel or without, or another store");
    }
  }
  if (steps.empty()) return {};
  CommandText commands;
  for (const auto& step : steps) add_step(commands, rows, step);
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
