-- KEYS: log, meta. ARGV: token, holder, unclean.
local call, log, meta = redis.call, KEYS[1], KEYS[2]
local m = call('HMGET', meta, 'owner', 'token', 'holder')
if m[1] and m[1] ~= '' and m[2] == ARGV[1] and m[3] == ARGV[2] then
  call('XDEL', log, '0-1')
  call('HSET', meta, 'owner', '', 'unclean', ARGV[3])
end
return 1
