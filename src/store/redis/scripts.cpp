// The steps that must be one, in the server's Lua. A script is short and knows nothing of the bytes it moves.
//
// At maxmemory Redis refuses a script's first write if that can make the data grow, and nothing after a first
// write that cannot. So whatever must work on a full server begins with XDEL, of an entry that is not there
// if need be (stores.md §6.2). Numbers of 64 bits stay text; those that are counted with are below 2^53.
#include "store/redis/scripts.h"

#include <openssl/evp.h>

#include <array>

#include "base/assert.h"

namespace ordo::store::redis {
namespace {

std::string sha_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  const int done = EVP_Digest(text.data(), text.size(), bytes.data(), &size, EVP_sha1(), nullptr);
  ORDO_ASSERT(done == 1);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex.push_back("0123456789abcdef"[bytes[i] >> 4]);
    hex.push_back("0123456789abcdef"[bytes[i] & 15]);
  }
  return hex;
}

// Shared by the scripts of the registry.
constexpr const char* kRegistry = R"lua(
local call = redis.call
local queues, counters, nodes = 'ordo:{ordo}:queues', 'ordo:{ordo}:counters', 'ordo:{ordo}:nodes'
local facts, requests, wake = 'ordo:{ordo}:facts', 'ordo:{ordo}:requests', 'ordo:{ordo}:wake'
local function key(queue, index, part) return 'ordo:{' .. queue .. ':' .. index .. '}:' .. part end
local function grow_on_a_full_server() call('XDEL', wake, '0-1') end
local function wake_all() call('XADD', wake, 'MAXLEN', '1', '*', 'w', '') end
local function changed() call('HINCRBY', counters, 'version', 1) wake_all() end
local function definition(name)
  local text = call('HGET', queues, name)
  if not text then return nil end
  local number, shards, flags = string.match(text, '^(%d+):(%d+):(%d)$')
  return number, tonumber(shards), tonumber(flags)
end
local function drop(number, shards)
  for index = 0, shards - 1 do
    call('UNLINK', key(number, index, 'log'), key(number, index, 'closed'), key(number, index, 'meta'),
         key(number, index, 'states'), key(number, index, 'dead'), key(number, index, 'ages'))
  end
end
local function each_shard(visit)
  local all = call('HGETALL', queues)
  for i = 2, #all, 2 do
    local number, shards = string.match(all[i], '^(%d+):(%d+):')
    for index = 0, tonumber(shards) - 1 do visit(number, index) end
  end
end
local function now_us()
  local time = call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local function above(last, now)
  return string.format('%.0f', math.max(tonumber(last) + 1, now))
end
)lua";

// Shared by what writes entries: the members of one append follow each other without a gap, and all but the
// last say how many follow. The next millisecond is begun early when this one is half used up.
constexpr const char* kEntries = R"lua(
local call = redis.call
local function add_entry(log, place, bytes, more)
  local id = '*'
  if place.ms then id = place.ms .. '-' .. string.format('%d', place.n + 1) end
  if more > 0 then id = call('XADD', log, id, 'e', bytes, 'm', more)
  else id = call('XADD', log, id, 'e', bytes) end
  if not place.ms then
    local ms, n = string.match(id, '^(%d+)-(%d+)$')
    place.ms, place.n = ms, tonumber(n)
  else
    place.n = place.n + 1
  end
  if more == 0 and place.n >= 2097152 then
    call('XSETID', log, string.format('%.0f', tonumber(place.ms) + 1) .. '-0')
  end
end
)lua";

std::string registry(const char* text) { return std::string(kRegistry) + text; }
std::string with_entries(const char* text) { return std::string(kEntries) + text; }

}  // namespace

Script::Script(std::string script) : text(std::move(script)), sha(sha_of(text)) {}

void call(CommandText& commands, const Script& script, std::size_t keys, std::size_t arguments) {
  commands.begin(3 + keys + arguments);
  commands.word(std::string_view("EVALSHA"));
  commands.word(std::string_view(script.sha));
  commands.word(keys);
}

// KEYS: logs. ARGV, per log: how many entries, then their bytes. Answers 0, or the place in KEYS of a log
// that does not exist: then nothing was written.
const Script& append_script() {
  static const Script script(with_entries(R"lua(
for i = 1, #KEYS do
  if call('EXISTS', KEYS[i]) == 0 then return i end
end
local at = 1
for i = 1, #KEYS do
  local place = {}
  local count = tonumber(ARGV[at])
  for j = 1, count do add_entry(KEYS[i], place, ARGV[at + j], count - j) end
  at = at + count + 1
end
return 0
)lua"));
  return script;
}

// KEYS: log, meta, states, dead, ages. ARGV: token, holder, batch - 1, batch, position, counts, max_dead (0:
// any number), dead_before ('': any age), then four lists, each behind its length: ids to erase; seq, bytes
// of states; seqs of states to erase; time, bytes of the dead. Answers 1 (applied) or 0 (stale).
const Script& commit_script() {
  static const Script script(R"lua(
local call = redis.call
local log, meta, states, dead, ages = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local m = call('HMGET', meta, 'owner', 'token', 'holder', 'batch', 'dead_count', 'trimmed')
if not m[1] or m[1] == '' or m[2] ~= ARGV[1] or m[3] ~= ARGV[2] then return 0 end
if m[4] == ARGV[4] then return 1 end
if m[4] ~= ARGV[3] then return 0 end

local at = 9
local function in_pieces(command, where)
  local last = at + tonumber(ARGV[at])
  for i = at + 1, last, 1000 do call(command, where, unpack(ARGV, i, math.min(i + 999, last))) end
  at = last + 1
end
call('XDEL', log, '0-1')
in_pieces('XDEL', log)
in_pieces('HSET', states)
in_pieces('HDEL', states)

local count = tonumber(m[5])
local last = at + tonumber(ARGV[at])
for i = at + 1, last, 2 do
  count = count + 1
  call('XADD', dead, string.format('%d-1', count), 'a', ARGV[i], 'b', ARGV[i + 1])
  call('ZADD', ages, ARGV[i], string.format('%016d', count))
end

local kept = call('ZCARD', ages)
local excess = 0
if kept > 0 then
  if ARGV[7] ~= '0' then excess = math.max(0, kept - tonumber(ARGV[7])) end
  if ARGV[8] ~= '' then excess = math.max(excess, call('ZCOUNT', ages, '-inf', '(' .. ARGV[8])) end
end
if excess > 0 then
  for _, member in ipairs(call('ZRANGE', ages, 0, excess - 1)) do
    call('XDEL', dead, string.format('%d-1', tonumber(member)))
  end
  call('ZREMRANGEBYRANK', ages, 0, excess - 1)
end
call('HSET', meta, 'batch', ARGV[4], 'position', ARGV[5], 'counts', ARGV[6], 'dead', kept - excess,
     'dead_count', string.format('%d', count), 'trimmed', tonumber(m[6]) + excess)
return 1
)lua");
  return script;
}

// ARGV: name, shards. Answers number, shards, flags.
const Script& define_script() {
  static const Script script(registry(R"lua(
local number, shards, flags = definition(ARGV[1])
if number then return {number, shards, tostring(flags)} end
number = string.format('%d', call('HINCRBY', counters, 'queue', 1))
for index = 0, tonumber(ARGV[2]) - 1 do
  call('XADD', key(number, index, 'log'), '0-1', 'e', '')
  call('XDEL', key(number, index, 'log'), '0-1')
  call('HSET', key(number, index, 'meta'), 'owner', '', 'token', 0, 'holder', 0, 'batch', 0, 'position', 0,
       'counts', '', 'dead', 0, 'dead_count', 0, 'trimmed', 0, 'unclean', 0)
end
call('HSET', queues, ARGV[1], number .. ':' .. ARGV[2] .. ':0')
changed()
return {number, ARGV[2], '0'}
)lua"));
  return script;
}

// ARGV: name, 0 or 1. Answers whether there is such a queue.
const Script& pause_script() {
  static const Script script(registry(R"lua(
local number, shards, flags = definition(ARGV[1])
if not number then return 0 end
grow_on_a_full_server()
call('HSET', queues, ARGV[1], number .. ':' .. shards .. ':' .. flags - flags % 2 + ARGV[2])
changed()
return 1
)lua"));
  return script;
}

// ARGV: name. Answers whether there was such a queue.
const Script& remove_script() {
  static const Script script(registry(R"lua(
local number, shards = definition(ARGV[1])
if not number then return 0 end
drop(number, shards)
call('HDEL', queues, ARGV[1])
changed()
return 1
)lua"));
  return script;
}

// Its logs get another name, so that every XADD … NOMKSTREAM finds none, as that of a removed queue does.
// ARGV: name. Answers whether there is such a queue.
const Script& close_script() {
  static const Script script(registry(R"lua(
local number, shards, flags = definition(ARGV[1])
if not number then return 0 end
grow_on_a_full_server()
if flags < 2 then
  for index = 0, shards - 1 do call('RENAME', key(number, index, 'log'), key(number, index, 'closed')) end
  call('HSET', queues, ARGV[1], number .. ':' .. shards .. ':' .. flags + 2)
end
changed()
return 1
)lua"));
  return script;
}

// ARGV: name of a closed queue, number of the one that takes its place. Answers whether there are both.
const Script& replace_script() {
  static const Script script(registry(R"lua(
local number, shards, flags = definition(ARGV[1])
if not number or flags < 2 or number == ARGV[2] then return 0 end
local all = call('HGETALL', queues)
for i = 2, #all, 2 do
  local by, by_shards = string.match(all[i], '^(%d+):(%d+):')
  if by == ARGV[2] then
    drop(number, shards)
    call('HDEL', queues, all[i - 1])
    call('HSET', queues, ARGV[1], by .. ':' .. by_shards .. ':' .. flags % 2)
    changed()
    return 1
  end
end
return 0
)lua"));
  return script;
}

// Answers, per shard: queue, index, owner, token, batch, position, counts, dead, trimmed.
const Script& shards_script() {
  static const Script script(registry(R"lua(
local rows = {}
each_shard(function(queue, index)
  local m = call('HMGET', key(queue, index, 'meta'), 'owner', 'token', 'batch', 'position', 'counts', 'dead', 'trimmed')
  rows[#rows + 1] = {queue, index, m[1], m[2], m[3], m[4], m[5], m[6], m[7]}
end)
return rows
)lua"));
  return script;
}

// ARGV: node, facts.
const Script& join_script() {
  static const Script script(registry(R"lua(
grow_on_a_full_server()
call('HSET', nodes, ARGV[1], above(call('HGET', nodes, ARGV[1]) or 0, now_us()))
call('HSET', facts, ARGV[1], ARGV[2])
return 1
)lua"));
  return script;
}

// ARGV: node. Answers whether it is registered.
const Script& renew_script() {
  static const Script script(registry(R"lua(
if call('HEXISTS', nodes, ARGV[1]) == 0 then return 0 end
grow_on_a_full_server()
call('HINCRBY', nodes, ARGV[1], 1)
return 1
)lua"));
  return script;
}

// ARGV: node, what is wished of it. Answers whether it is registered.
const Script& request_script() {
  static const Script script(registry(R"lua(
if call('HEXISTS', nodes, ARGV[1]) == 0 then return 0 end
grow_on_a_full_server()
call('HSET', requests, ARGV[1], ARGV[2])
wake_all()
return 1
)lua"));
  return script;
}

// ARGV: node, seen renewals ('': any).
const Script& leave_script() {
  static const Script script(registry(R"lua(
local renewals = call('HGET', nodes, ARGV[1])
if not renewals or (ARGV[2] ~= '' and ARGV[2] ~= renewals) then return 0 end
grow_on_a_full_server()
call('HDEL', nodes, ARGV[1])
call('HDEL', facts, ARGV[1])
call('HDEL', requests, ARGV[1])
each_shard(function(queue, index)
  local meta = key(queue, index, 'meta')
  if call('HGET', meta, 'owner') == ARGV[1] then call('HSET', meta, 'owner', '') end
end)
return 1
)lua"));
  return script;
}

// ARGV: node, holder, then per claim: queue, index, seen owner, seen token, seen renewals. Answers, per
// grant: place of the claim (from 0), token, batch, id of the last entry (nil: none), unclean.
const Script& acquire_script() {
  static const Script script(registry(R"lua(
if not call('HGET', nodes, ARGV[1]) then return {} end
grow_on_a_full_server()
local grants = {}
local now = now_us()
for at = 3, #ARGV, 5 do
  local meta = key(ARGV[at], ARGV[at + 1], 'meta')
  local m = call('HMGET', meta, 'owner', 'token', 'batch', 'unclean')
  local granted = m[1] and m[1] == ARGV[at + 2] and m[2] == ARGV[at + 3]
  if granted and m[1] ~= '' then
    local renewals = call('HGET', nodes, m[1])
    granted = not renewals or renewals == ARGV[at + 4]
  end
  if granted then
    local token = above(m[2], now)
    call('HSET', meta, 'owner', ARGV[1], 'token', token, 'holder', ARGV[2], 'unclean', 1)
    local last = call('XREVRANGE', key(ARGV[at], ARGV[at + 1], 'log'), '+', '-', 'COUNT', 1)
    grants[#grants + 1] = {(at - 3) / 5, token, m[3], last[1] and last[1][1] or false, m[4]}
  end
end
return grants
)lua"));
  return script;
}

// ARGV, per lease: queue, index, token, holder.
const Script& release_script() {
  static const Script script(registry(R"lua(
grow_on_a_full_server()
for at = 1, #ARGV, 4 do
  local meta = key(ARGV[at], ARGV[at + 1], 'meta')
  local m = call('HMGET', meta, 'owner', 'token', 'holder')
  if m[1] and m[1] ~= '' and m[2] == ARGV[at + 2] and m[3] == ARGV[at + 3] then
    call('HSET', meta, 'owner', '', 'unclean', 0)
  end
end
return 1
)lua"));
  return script;
}

// A server that came back has lost what it had not yet written down or replicated: then its log may count
// from a lower number than its owner has read, and new entries would be overlooked. The log is set behind
// what was read, and the owner loses the lease, so that the shard is read anew. ARGV, per shard: queue,
// index, id that was read up to, token, holder. Answers how many logs had gone back.
const Script& catch_up_script() {
  static const Script script(registry(R"lua(
local function parts(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(n)
end
local gone_back = 0
for at = 1, #ARGV, 5 do
  local log, meta = key(ARGV[at], ARGV[at + 1], 'log'), key(ARGV[at], ARGV[at + 1], 'meta')
  if call('EXISTS', log) == 1 then
    local info = call('XINFO', 'STREAM', log)
    local last
    for i = 1, #info, 2 do if info[i] == 'last-generated-id' then last = info[i + 1] end end
    local ms, n = parts(last)
    local read_ms, read_n = parts(ARGV[at + 2])
    if ms < read_ms or (ms == read_ms and n < read_n) then
      gone_back = gone_back + 1
      grow_on_a_full_server()
      call('XSETID', log, ARGV[at + 2])
      local m = call('HMGET', meta, 'token', 'holder')
      if m[1] == ARGV[at + 3] and m[2] == ARGV[at + 4] then call('HSET', meta, 'owner', '', 'unclean', 1) end
    end
  end
end
return gone_back
)lua"));
  return script;
}

namespace {

constexpr const char* kTakeDead = R"lua(
local function take_dead(queue, index, count)
  local base = 'ordo:{' .. queue .. ':' .. index .. '}:'
  if call('XDEL', base .. 'dead', count .. '-1') == 0 then return false end
  call('ZREM', base .. 'ages', string.format('%016d', tonumber(count)))
  call('HINCRBY', base .. 'meta', 'dead', -1)
  return true
end
)lua";

}  // namespace

// ARGV: queue, then per payload: index, count. Answers how many there were; -1: the queue is closed.
const Script& erase_dead_script() {
  static const Script script("local call = redis.call\n" + std::string(kTakeDead) + R"lua(
local taken = 0
for at = 2, #ARGV, 2 do
  if call('EXISTS', 'ordo:{' .. ARGV[1] .. ':' .. ARGV[at] .. '}:closed') == 1 then return -1 end
end
for at = 2, #ARGV, 2 do
  if take_dead(ARGV[1], ARGV[at], ARGV[at + 1]) then taken = taken + 1 end
end
return taken
)lua");
  return script;
}

// KEYS: logs. ARGV: queue, then per payload: index, count, place of the log in KEYS, bytes of the entry.
// Answers how many were revived, or minus the place of a log that does not exist: then nothing was written.
const Script& revive_script() {
  static const Script script(std::string(kEntries) + kTakeDead + R"lua(
for i = 1, #KEYS do
  if call('EXISTS', KEYS[i]) == 0 then return -i end
end
local revived, counts, places = {}, {}, {}
for at = 2, #ARGV, 4 do
  if take_dead(ARGV[1], ARGV[at], ARGV[at + 1]) then
    local log = KEYS[tonumber(ARGV[at + 2])]
    revived[#revived + 1] = {log, ARGV[at + 3]}
    counts[log] = (counts[log] or 0) + 1
    places[log] = {}
  end
end
for _, entry in ipairs(revived) do
  local log = entry[1]
  counts[log] = counts[log] - 1
  add_entry(log, places[log], entry[2], counts[log])
end
if #revived > 0 then call('XADD', 'ordo:{ordo}:wake', 'MAXLEN', '1', '*', 'w', '') end
return #revived
)lua");
  return script;
}

std::span<const Script* const> all_scripts() {
  static const std::array scripts = {
      &append_script(),     &commit_script(),  &define_script(),  &pause_script(),   &remove_script(),
      &close_script(),      &replace_script(), &shards_script(),  &join_script(),    &renew_script(),
      &request_script(),    &leave_script(),   &acquire_script(), &release_script(), &catch_up_script(),
      &erase_dead_script(), &revive_script(),
  };
  return scripts;
}

}  // namespace ordo::store::redis
