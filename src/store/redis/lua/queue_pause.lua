-- ARGV: name, 0 or 1. Answers whether there is such a queue.
local number, shards, flags = definition(ARGV[1])
if not number then return 0 end
grow_on_a_full_server()
call('HSET', queues, ARGV[1], number .. ':' .. shards .. ':' .. flags - flags % 2 + ARGV[2])
changed()
return 1
