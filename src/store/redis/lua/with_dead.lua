-- For scripts that take dead payloads away.
local call = redis.call
local function take_dead(dead, ages, meta, count)
  if call('XDEL', dead, count .. '-1') == 0 then return false end
  call('ZREM', ages, string.format('%016d', tonumber(count)))
  call('HINCRBY', meta, 'dead', -1)
  return true
end
