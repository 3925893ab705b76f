-- ARGV: node, facts.
local time = call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local last = tonumber(call('HGET', nodes, ARGV[1])) or 0
if last ~= last or last > 2^53 then last = 0 end
grow_on_a_full_server()
name_schema()
call('HSET', nodes, ARGV[1], string.format('%.0f', math.max(last + 1, now)))
call('HSET', facts, ARGV[1], ARGV[2])
return 1
