-- ARGV: node. Answers whether it is registered. One whose count somebody else has damaged joins again.
local count = call('HGET', nodes, ARGV[1])
if not count or #count > 18 or not string.match(count, '^%d+$') then return 0 end
grow_on_a_full_server()
call('HINCRBY', nodes, ARGV[1], 1)
return 1
