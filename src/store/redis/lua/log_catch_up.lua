-- A server that came back has lost what it had not yet written down or replicated: then its log may count
-- from a lower number than its owner has read, and new entries would be overlooked. The log is set behind
-- what was read, and the owner loses the lease, so that the shard is read anew. KEYS: log, meta. ARGV: id
-- that was read up to, token, holder. Answers whether the log had gone back.
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
