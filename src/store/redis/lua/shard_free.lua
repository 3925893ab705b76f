-- KEYS: log, meta. ARGV: owner, token. Its end was not clean.
local call, log, meta = redis.call, KEYS[1], KEYS[2]
local m = call('HMGET', meta, 'owner', 'token')
if m[1] == ARGV[1] and m[2] == ARGV[2] then
  call('XDEL', log, '0-1')
  call('HSET', meta, 'owner', '')
end
return 1
