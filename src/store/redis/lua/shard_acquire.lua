-- KEYS: log, meta, the log's name when it is closed, aside. ARGV: node, holder, seen owner, seen token.
-- Answers token, batch, id of the last entry (nil: none), unclean (2: its last owner had crashed); or nil:
-- not granted.
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
