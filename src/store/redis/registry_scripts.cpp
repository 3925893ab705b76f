// The steps on what belongs to no shard: queues and nodes. KEYS: those of the registry, in the order of
// registry_call().
#include <array>
#include <string>

#include "store/redis/keys.h"
#include "store/redis/scripts.h"

namespace ordo::store::redis {
namespace {

constexpr std::array kRegistryKeys = {kQueuesKey, kCountersKey, kNodesKey, kFactsKey, kRequestsKey, kWakeKey};

Script registry(const char* text) {
  return Script(std::string(R"lua(
local call = redis.call
local queues, counters, nodes, facts, requests, wake = unpack(KEYS)
local function grow_on_a_full_server() call('XDEL', wake, '0-1') end
local function wake_all() call('XADD', wake, 'MAXLEN', '1', '*', 'w', '') end
local function changed() call('HINCRBY', counters, 'version', 1) wake_all() end
local function definition(name)
  local text = call('HGET', queues, name)
  if not text then return nil end
  return string.match(text, '^(%d+):(%d+):(%d)$')
end
)lua") + text);
}

}  // namespace

void registry_call(CommandText& commands, const Script& script, std::size_t arguments) {
  call(commands, script, kRegistryKeys.size(), arguments);
  for (const auto key : kRegistryKeys) commands.word(key);
}

// ARGV: name. Answers number, shards, flags; or the number alone that a new queue of this name may have.
const Script& find_queue_script() {
  static const Script script = registry(R"lua(
local number, shards, flags = definition(ARGV[1])
if number then return {number, shards, flags} end
if call('HEXISTS', queues, ARGV[1]) == 1 then return {'0', '0', '0'} end  -- what cannot be read stays as it is
local number = call('HINCRBY', counters, 'queue', 1)
if number == 1 then  -- the first of all; or the server has evicted the count
  local all = call('HGETALL', queues)
  for i = 2, #all, 2 do number = math.max(number, 1 + (tonumber(string.match(all[i], '^%d+')) or 0)) end
  call('HSET', counters, 'queue', string.format('%d', number))
end
return {string.format('%d', number)}
)lua");
  return script;
}

// ARGV: name, number, shards. Answers number, shards, flags: of another if that was faster.
const Script& name_queue_script() {
  static const Script script = registry(R"lua(
local number, shards, flags = definition(ARGV[1])
if number then return {number, shards, flags} end
if call('HEXISTS', queues, ARGV[1]) == 1 then return {'0', '0', '0'} end
call('HSET', queues, ARGV[1], ARGV[2] .. ':' .. ARGV[3] .. ':0')
changed()
return {ARGV[2], ARGV[3], '0'}
)lua");
  return script;
}

// ARGV: name, 0 or 1. Answers whether there is such a queue.
const Script& pause_script() {
  static const Script script = registry(R"lua(
local number, shards, flags = definition(ARGV[1])
if not number then return 0 end
grow_on_a_full_server()
call('HSET', queues, ARGV[1], number .. ':' .. shards .. ':' .. flags - flags % 2 + ARGV[2])
changed()
return 1
)lua");
  return script;
}

// ARGV: name. Answers number, shards, flags; or nothing: there is no such queue.
const Script& close_script() {
  static const Script script = registry(R"lua(
local number, shards, flags = definition(ARGV[1])
if not number then return {} end
grow_on_a_full_server()
if tonumber(flags) < 2 then
  flags = string.format('%d', flags + 2)
  call('HSET', queues, ARGV[1], number .. ':' .. shards .. ':' .. flags)
end
changed()
return {number, shards, flags}
)lua");
  return script;
}

// ARGV: name of a closed queue, number of the one that takes its place. Answers what the first was: number,
// shards, flags; or nothing: there are not both. What stands under the first number is then nobody's:
// `left:N` in the counters says so until it is removed.
const Script& replace_script() {
  static const Script script = registry(R"lua(
local number, shards, flags = definition(ARGV[1])
if not number or tonumber(flags) < 2 or number == ARGV[2] then return {} end
local all = call('HGETALL', queues)
for i = 2, #all, 2 do
  local by, by_shards, by_flags = string.match(all[i], '^(%d+):(%d+):(%d)$')
  if by == ARGV[2] then
    call('HDEL', queues, all[i - 1])
    local paused_or_closed = string.format('%d', flags % 2 + by_flags - by_flags % 2)
    call('HSET', queues, ARGV[1], by .. ':' .. by_shards .. ':' .. paused_or_closed)
    call('HSET', counters, 'left:' .. number, shards)
    changed()
    return {number, shards, flags}
  end
end
return {}
)lua");
  return script;
}

// Answers the numbers of replaced queues whose shards may still be there, each with how many.
const Script& left_script() {
  static const Script script = registry(R"lua(
local all, left = call('HGETALL', counters), {}
for i = 1, #all, 2 do
  local number = string.match(all[i], '^left:(%d+)$')
  if number then
    left[#left + 1] = number
    left[#left + 1] = all[i + 1]
  end
end
return left
)lua");
  return script;
}

// ARGV: name, number. Answers whether it was there still.
const Script& forget_queue_script() {
  static const Script script = registry(R"lua(
if definition(ARGV[1]) ~= ARGV[2] then return 0 end
call('HDEL', queues, ARGV[1])
changed()
return 1
)lua");
  return script;
}

// Answers renewals, facts and wishes: node, value, node, value, … A full server refuses a transaction that
// reads as much.
const Script& nodes_script() {
  static const Script script =
      registry("return {call('HGETALL', nodes), call('HGETALL', facts), call('HGETALL', requests)}\n");
  return script;
}

// ARGV: node, facts.
const Script& join_script() {
  static const Script script = registry(R"lua(
local time = call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local last = tonumber(call('HGET', nodes, ARGV[1])) or 0
if last ~= last or last > 2^53 then last = 0 end
grow_on_a_full_server()
call('HSET', nodes, ARGV[1], string.format('%.0f', math.max(last + 1, now)))
call('HSET', facts, ARGV[1], ARGV[2])
return 1
)lua");
  return script;
}

// ARGV: node. Answers whether it is registered. One whose count somebody else has damaged joins again.
const Script& renew_script() {
  static const Script script = registry(R"lua(
local count = call('HGET', nodes, ARGV[1])
if not count or #count > 18 or not string.match(count, '^%d+$') then return 0 end
grow_on_a_full_server()
call('HINCRBY', nodes, ARGV[1], 1)
return 1
)lua");
  return script;
}

// ARGV: node, what is wished of it. Answers whether it is registered.
const Script& request_script() {
  static const Script script = registry(R"lua(
if call('HEXISTS', nodes, ARGV[1]) == 0 then return 0 end
grow_on_a_full_server()
call('HSET', requests, ARGV[1], ARGV[2])
wake_all()
return 1
)lua");
  return script;
}

// ARGV: node, seen renewals ('': any). Answers whether it was forgotten.
const Script& leave_script() {
  static const Script script = registry(R"lua(
local renewals = call('HGET', nodes, ARGV[1])
if not renewals or (ARGV[2] ~= '' and ARGV[2] ~= renewals) then return 0 end
grow_on_a_full_server()
call('HDEL', nodes, ARGV[1])
call('HDEL', facts, ARGV[1])
call('HDEL', requests, ARGV[1])
return 1
)lua");
  return script;
}

// KEYS: histories, wake. ARGV: 1 behind a setback, or 0; of each server its name, and its history's run, name
// and the one before. Notes all that. Answers how many µs ago a setback was noted last; or nothing.
// SlotMap::look_at_history() decides likewise.
const Script& histories_script() {
  static const Script script(R"lua(
local call, histories, wake = redis.call, KEYS[1], KEYS[2]
call('XDEL', wake, '0-1')
local all = redis.pcall('HGETALL', histories)
if all.err then return end
local known, names, knows_some = {}, {}, false
for i = 1, #all, 2 do
  local run, name = string.match(all[i + 1], '^(%S*) (%S*)$')
  if run then
    known[all[i]] = {run = run, name = name}
    names[name] = true
    knows_some = true
  end
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local function went_back() call('HSET', histories, 'setback', string.format('%.0f', now)) end
if ARGV[1] == '1' then went_back() end
for i = 2, #ARGV, 4 do
  local server, run, name, before = unpack(ARGV, i, i + 3)
  local last = known[server]
  if not names[name] then
    local is_successor = knows_some and string.find(before, '[^0]')
    if last and last.run ~= run then is_successor = true end
    if is_successor then went_back() end
  end
  if not last or last.run ~= run or last.name ~= name then call('HSET', histories, server, run .. ' ' .. name) end
end
local at = tonumber(call('HGET', histories, 'setback') or '')
if not at or not (at > 0) then return end
if at > now then  -- the clock went back, and all would wait until it has come as far again
  went_back()
  at = now
end
return string.format('%.0f', now - at)
)lua");
  return script;
}

}  // namespace ordo::store::redis
