-- ARGV: node. Answers whether it is registered. One whose count somebody else has damaged joins again.
local count = call('HGET', nodes, ARGV[1])
if not count or not string.match(count, '^%d+$') or tonumber(count) >= 2^53 then return 0 end
grow_on_a_full_server()
local time = call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
call('HSET', nodes, ARGV[1], string.format('%.0f', math.max(tonumber(count) + 1, now)))
return 1
