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

// Shared by what writes entries: the members of one append follow each other without a gap, and all but the
// last say how many follow. The next millisecond is begun early when this one is half used up.
const char* const kEntriesLua = R"lua(
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
-- The first of the logs, from this place in KEYS on, that does not exist.
local function missing_log(first)
  for i = first, #KEYS do
    if call('EXISTS', KEYS[i]) == 0 then return i end
  end
end
-- To each of them, from this place in ARGV on: how many entries, then their bytes.
local function add_entries(first, at)
  for i = first, #KEYS do
    local place = {}
    local count = tonumber(ARGV[at])
    for j = 1, count do add_entry(KEYS[i], place, ARGV[at + j], count - j) end
    at = at + count + 1
  end
end
)lua";

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

// Entries that were set aside are members of a sorted set without scores, in the order of their numbers.
constexpr const char* kAside = R"lua(
local call = redis.call
local function aside_name(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return string.format('%011x%06x', tonumber(ms), tonumber(n))
end
)lua";

std::string with_entries(const char* text) { return std::string(kEntriesLua) + text; }

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
local missing = missing_log(1)
if missing then return missing end
add_entries(1, 1)
return 0
)lua"));
  return script;
}

// KEYS: log, meta, states, dead, ages, aside, kept, heads. ARGV: token, holder, batch - 1, batch, position,
// counts, max_dead (0: any number), dead_before ('': any age), number, head and body of what is to be kept
// ('': nothing), then six lists, each behind its length: ids to erase; seq, bytes of states; seqs of states
// to erase; ids to set aside, of which those that others pushed in fields of their own (docs/redis.md) stay;
// time, bytes of the dead; numbers of what is kept no longer. Answers 1 (applied), 2 (applied, but for what
// was to be kept: the server is full) or 0 (stale).
const Script& commit_script() {
  static const Script script(std::string(kAside) + R"lua(
local log, meta, states, dead, ages, aside, kept_rows, heads = unpack(KEYS)
local m = call('HMGET', meta, 'owner', 'token', 'holder', 'batch', 'dead_count', 'trimmed')
if not m[1] or m[1] == '' or m[2] ~= ARGV[1] or m[3] ~= ARGV[2] then return 0 end
if m[4] == ARGV[4] then
  -- WAIT asks the replicas for what this connection wrote, and who repeats a commit may have a new one.
  call('XDEL', log, '0-1')
  call('HSET', meta, 'batch', m[4])
  return 1
end
if m[4] ~= ARGV[3] or not tonumber(m[5]) or not tonumber(m[6]) then return 0 end

-- What another program left under these names fails here, before anything is written: nothing is undone.
local kept = call('ZCARD', ages)
call('HLEN', states)
call('XLEN', dead)
call('ZCARD', aside)
local count, trimmed = tonumber(m[5]), tonumber(m[6])
local at = 12
local dead_at = at
for _ = 1, 4 do dead_at = dead_at + tonumber(ARGV[dead_at]) + 1 end
if ARGV[dead_at] ~= '0' and call('EXISTS', dead) == 1 then  -- another program may have numbered an entry higher
  local info = call('XINFO', 'STREAM', dead)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then count = math.max(count, tonumber(string.match(info[i + 1], '^%d+'))) end
  end
  if count > 70368744177664 then
    return redis.error_reply('ERR ' .. dead .. ' has an entry with a number that is too high')
  end
end

-- What is to be kept holds up nothing.
local keeps = type(redis.pcall('HLEN', kept_rows)) == 'number' and type(redis.pcall('ZCARD', heads)) == 'number'
local answer = 1
if ARGV[9] ~= '' then
  local put = keeps and redis.pcall('HSET', kept_rows, ARGV[9], ARGV[11])
  if type(put) ~= 'number' then
    answer = 2
  else
    call('ZREMRANGEBYSCORE', heads, ARGV[9], ARGV[9])
    call('ZADD', heads, ARGV[9], ARGV[9] .. ':' .. ARGV[10])
  end
end

local function in_pieces(write)
  local last = at + tonumber(ARGV[at])
  for i = at + 1, last, 1000 do write(i, math.min(i + 999, last)) end
  at = last + 1
end
call('XDEL', log, '0-1')
in_pieces(function(first, last)
  local missing = last - first + 1 - call('XDEL', log, unpack(ARGV, first, last))
  if missing == 0 or call('EXISTS', aside) == 0 then return end
  for i = first, last do
    local name = aside_name(ARGV[i])
    call('ZREMRANGEBYLEX', aside, '[' .. name .. ':', '(' .. name .. ';')
  end
end)
in_pieces(function(first, last) call('HSET', states, unpack(ARGV, first, last)) end)
in_pieces(function(first, last) call('HDEL', states, unpack(ARGV, first, last)) end)

-- A stream gives the room of an entry back only with that of its neighbours; a large one has none.
for i = at + 1, at + tonumber(ARGV[at]) do
  local found = call('XRANGE', log, ARGV[i], ARGV[i])[1]
  if found and found[2][1] == 'e' and #found[2][2] <= 4096 then
    call('ZADD', aside, 0, aside_name(ARGV[i]) .. ':' .. found[2][2])
    call('XDEL', log, ARGV[i])
  end
end
at = at + tonumber(ARGV[at]) + 1

local last = at + tonumber(ARGV[at])
for i = at + 1, last, 2 do
  count = count + 1
  call('XADD', dead, string.format('%d-1', count), 'a', ARGV[i], 'b', ARGV[i + 1])
  call('ZADD', ages, ARGV[i], string.format('%016d', count))
end
at = last + 1
in_pieces(function(first, last)
  if not keeps then return end
  call('HDEL', kept_rows, unpack(ARGV, first, last))
  for i = first, last do call('ZREMRANGEBYSCORE', heads, ARGV[i], ARGV[i]) end
end)

kept = call('ZCARD', ages)
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
     'dead_count', string.format('%d', count), 'trimmed', trimmed + excess)
return answer
)lua");
  return script;
}

namespace {

constexpr const char* kMakeShard = R"lua(
local call, log, meta, closed, dead = redis.call, unpack(KEYS)
local function make_log()
  call('XADD', log, '0-1', 'e', '')
  call('XDEL', log, '0-1')
end
local function make_meta(dead_rows, unclean)
  call('HSET', meta, 'owner', '', 'token', 0, 'holder', 0, 'batch', 0, 'position', 0,
       'counts', '', 'dead', dead_rows, 'dead_count', 0, 'trimmed', 0, 'unclean', unclean,
       'queue', ARGV[1], 'shards', ARGV[2])  -- should the registry be evicted
end
)lua";

}  // namespace

// KEYS: log, meta, the log's name when it is closed, dead. ARGV: the queue's name and shards. Answers whether
// nothing of such a shard was there: only then is it made.
const Script& create_script() {
  static const Script script(std::string(kMakeShard) + R"lua(
if call('EXISTS', log, meta, closed, dead) > 0 then return 0 end
make_log()
make_meta(0, 0)
return 1
)lua");
  return script;
}

// KEYS, ARGV: as above. Makes what the server has evicted of a shard, empty; the rest of it stays.
const Script& restore_script() {
  static const Script script(std::string(kMakeShard) + R"lua(
if call('EXISTS', log, closed) == 0 then make_log() end
if call('EXISTS', meta) == 0 then make_meta(call('XLEN', dead), 1) end
return 1
)lua");
  return script;
}

// KEYS: log, meta, the log's name when it is closed, aside. ARGV: node, holder, seen owner, seen token.
// Answers token, batch, id of the last entry (nil: none), unclean (2: its last owner had crashed); or nil:
// not granted.
const Script& acquire_script() {
  static const Script script(std::string(kAside) + R"lua(
local log, meta, aside = KEYS[1], KEYS[2], KEYS[4]
local m = call('HMGET', meta, 'owner', 'token', 'batch', 'unclean')
if not m[1] or m[1] ~= ARGV[3] or m[2] ~= ARGV[4] then return false end
local time = call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local token = string.format('%.0f', math.max(tonumber(m[2]) + 1, now))
call('XDEL', log, '0-1')
call('HSET', meta, 'owner', ARGV[1], 'token', token, 'holder', ARGV[2], 'unclean', 1)
local most = '4398046511103-18446744073709551615'  -- what is behind it will be numbered anew
local last = call('XREVRANGE', log, most, '-', 'COUNT', 1)
if not last[1] then last = call('XREVRANGE', KEYS[3], most, '-', 'COUNT', 1) end
last = last[1] and last[1][1] or false
local waiting = call('ZREVRANGEBYLEX', aside, '+', '-', 'LIMIT', 0, 1)[1]
if waiting and (not last or waiting > aside_name(last)) then
  last = string.format('%.0f-%.0f', tonumber(string.sub(waiting, 1, 11), 16), tonumber(string.sub(waiting, 12, 17), 16))
end
return {token, m[3], last, m[4]}
)lua");
  return script;
}

// The log gets another name, so that every XADD … NOMKSTREAM finds none, as that of a removed queue does.
// KEYS: log, its other name.
const Script& close_log_script() {
  static const Script script(R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', KEYS[1], KEYS[2]) end
return 1
)lua");
  return script;
}

// KEYS: log, meta. ARGV: owner, token. Its end was not clean.
const Script& free_script() {
  static const Script script(R"lua(
local call, log, meta = redis.call, KEYS[1], KEYS[2]
local m = call('HMGET', meta, 'owner', 'token')
if m[1] == ARGV[1] and m[2] == ARGV[2] then
  call('XDEL', log, '0-1')
  call('HSET', meta, 'owner', '')
end
return 1
)lua");
  return script;
}

// KEYS: log, meta. ARGV: token, holder, unclean.
const Script& release_script() {
  static const Script script(R"lua(
local call, log, meta = redis.call, KEYS[1], KEYS[2]
local m = call('HMGET', meta, 'owner', 'token', 'holder')
if m[1] and m[1] ~= '' and m[2] == ARGV[1] and m[3] == ARGV[2] then
  call('XDEL', log, '0-1')
  call('HSET', meta, 'owner', '', 'unclean', ARGV[3])
end
return 1
)lua");
  return script;
}

// A server that came back has lost what it had not yet written down or replicated: then its log may count
// from a lower number than its owner has read, and new entries would be overlooked. The log is set behind
// what was read, and the owner loses the lease, so that the shard is read anew. KEYS: log, meta. ARGV: id
// that was read up to, token, holder. Answers whether the log had gone back.
const Script& catch_up_script() {
  static const Script script(R"lua(
local call, log, meta = redis.call, KEYS[1], KEYS[2]
local function parts(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(n)
end
if call('EXISTS', log) == 0 then return 0 end
local info = call('XINFO', 'STREAM', log)
local last
for i = 1, #info, 2 do if info[i] == 'last-generated-id' then last = info[i + 1] end end
local ms, n = parts(last)
local read_ms, read_n = parts(ARGV[1])
if ms > read_ms or (ms == read_ms and n >= read_n) then return 0 end
call('XDEL', log, '0-1')
call('XSETID', log, ARGV[1])
local m = call('HMGET', meta, 'token', 'holder')
if m[1] == ARGV[2] and m[2] == ARGV[3] then call('HSET', meta, 'owner', '', 'unclean', 1) end
return 1
)lua");
  return script;
}

// Another program may number an entry as it likes (XADD … 99999999999999-0), and the server numbers all that
// follows behind it: beyond what a Seq can say, or in a time far ahead, which their jobs would wait for. Such
// entries come to the end of the log again, in their order, and the log goes on from where it was. Nothing
// stored speaks of them: they lie behind what any owner has read. All in one step, however many: the log
// counts on from its highest entry. KEYS: log, meta. ARGV: id that was read up to, token, holder. Answers how
// many there were.
const Script& renumber_script() {
  static const Script script(R"lua(
local call, log, meta = redis.call, KEYS[1], KEYS[2]
local m = call('HMGET', meta, 'owner', 'token', 'holder', 'position')
if not m[1] or m[1] == '' or m[2] ~= ARGV[2] or m[3] ~= ARGV[3] then return 0 end
local time = call('TIME')
local limit = tonumber(time[1]) * 1000 + 86400000
local read = tonumber(string.match(ARGV[1], '^(%d+)-'))
local kept = math.max(read, math.floor(tonumber(m[4]) / 4194304))
local odd, at = {}, '(' .. ARGV[1]
while true do
  local page = call('XRANGE', log, at, '+', 'COUNT', 1000)
  if #page == 0 then break end
  for _, entry in ipairs(page) do
    local ms, n = string.match(entry[1], '^(%d+)-(%d+)$')
    ms, n = tonumber(ms), tonumber(n)
    if ms > math.max(limit, kept) or n > 4194303 then
      odd[#odd + 1] = entry
    else
      kept = math.max(kept, ms)
    end
  end
  if #page < 1000 or page[1000][1] == '18446744073709551615-18446744073709551615' then
    break  -- behind the highest id of all nothing can be asked for
  end
  at = '(' .. page[#page][1]
end
if #odd == 0 then return 0 end
for _, entry in ipairs(odd) do call('XDEL', log, entry[1]) end
local added = 0
local info = call('XINFO', 'STREAM', log)
for i = 1, #info, 2 do if info[i] == 'entries-added' then added = info[i + 1] end end
local last = string.format('%.0f-0', kept + 1)
local set = redis.pcall('XSETID', log, last, 'ENTRIESADDED', added, 'MAXDELETEDID', last)
if set.err then call('XSETID', log, last) end  -- before Redis 7
for _, entry in ipairs(odd) do
  local fields = entry[2]
  if #fields <= 4000 then call('XADD', log, '*', unpack(fields))
  else call('XADD', log, '*', 'fields', table.concat(fields, ' ')) end  -- more than a script can pass
end
return #odd
)lua");
  return script;
}

namespace {

constexpr const char* kTakeDead = R"lua(
local function take_dead(dead, ages, meta, count)
  if call('XDEL', dead, count .. '-1') == 0 then return false end
  call('ZREM', ages, string.format('%016d', tonumber(count)))
  call('HINCRBY', meta, 'dead', -1)
  return true
end
)lua";

}  // namespace

// KEYS: dead, ages, meta, a closed log. ARGV: counts of the payloads. Answers how many there were; -1: the
// queue is closed.
const Script& erase_dead_script() {
  static const Script script("local call = redis.call\n" + std::string(kTakeDead) + R"lua(
if call('EXISTS', KEYS[4]) == 1 then return -1 end
local taken = 0
for i = 1, #ARGV do
  if take_dead(KEYS[1], KEYS[2], KEYS[3], ARGV[i]) then taken = taken + 1 end
end
return taken
)lua");
  return script;
}

// KEYS: kept, heads, a closed log. ARGV: number, head, body. Answers whether it was there; -1: the queue is
// closed.
const Script& replace_kept_script() {
  static const Script script(R"lua(
local call, rows, heads = redis.call, KEYS[1], KEYS[2]
if call('EXISTS', KEYS[3]) == 1 then return -1 end
if call('HEXISTS', rows, ARGV[1]) == 0 then return 0 end
call('ZREMRANGEBYSCORE', heads, ARGV[1], ARGV[1])
call('ZADD', heads, ARGV[1], ARGV[1] .. ':' .. ARGV[2])
call('HSET', rows, ARGV[1], ARGV[3])
return 1
)lua");
  return script;
}

// KEYS: log, dead, ages, meta, a closed log of the dead's shard. ARGV, per payload: count, bytes of the
// entry. Answers how many were revived, or -1: there is no such log, or the dead may not be changed any more,
// and nothing was written.
const Script& revive_script() {
  static const Script script(std::string(kEntriesLua) + kTakeDead + R"lua(
if call('EXISTS', KEYS[1]) == 0 or call('EXISTS', KEYS[5]) == 1 then return -1 end
local revived = {}
for at = 1, #ARGV, 2 do
  if take_dead(KEYS[2], KEYS[3], KEYS[4], ARGV[at]) then revived[#revived + 1] = ARGV[at + 1] end
end
local place = {}
for i, bytes in ipairs(revived) do add_entry(KEYS[1], place, bytes, #revived - i) end
return #revived
)lua");
  return script;
}

std::span<const Script* const> all_scripts() {
  static const std::array scripts = {
      &append_script(),       &commit_script(),     &revive_script(),  &erase_dead_script(),
      &create_script(),       &acquire_script(),    &free_script(),    &release_script(),
      &catch_up_script(),     &find_queue_script(), &pause_script(),   &name_queue_script(),
      &forget_queue_script(), &join_script(),       &renew_script(),   &request_script(),
      &leave_script(),        &nodes_script(),      &close_script(),   &replace_script(),
      &left_script(),         &close_log_script(),  &restore_script(), &wait_row_script(),
      &put_wait_script(),     &step_row_script(),   &answer_script(),  &replace_kept_script(),
      &histories_script(),
  };
  return scripts;
}

}  // namespace ordo::store::redis
