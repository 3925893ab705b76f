-- KEYS: log, meta, states, dead, ages, aside, kept, heads. ARGV: token, holder, batch - 1, batch, position,
-- counts, max_dead (0: any number), dead_before ('': any age), number, head and body of what is to be kept
-- ('': nothing), then six lists, each behind its length: ids to erase; seq, bytes of states; seqs of states
-- to erase; ids to set aside, of which those that others pushed in fields of their own (docs/redis.md) stay;
-- time, bytes of the dead; numbers of what is kept no longer. Answers 1 (applied), 2 (applied, but for what
-- was to be kept: the server is full) or 0 (stale).
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
