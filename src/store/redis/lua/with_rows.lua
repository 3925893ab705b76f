-- For scripts that write rows of waits. KEYS: waits, listed, ages.
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local function drop(gone)
  call('HDEL', KEYS[1], gone)
  call('ZREM', KEYS[2], gone)
  call('ZREM', KEYS[3], gone)
end
local function forget_if_over(key, excess)
  local age = call('ZSCORE', KEYS[3], key)
  if age and tonumber(age) <= now - excess then drop(key) end
end
local function put(key, bytes, listed, til)
  call('HSET', KEYS[1], key, bytes)
  if listed == '1' then call('ZADD', KEYS[2], '0', key) else call('ZREM', KEYS[2], key) end
  if til ~= '' then call('ZADD', KEYS[3], til, key) else call('ZREM', KEYS[3], key) end
end
