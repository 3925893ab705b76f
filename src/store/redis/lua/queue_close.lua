-- ARGV: name. Answers number, shards, flags; or nothing: there is no such queue.
local number, shards, flags = definition(ARGV[1])
if not number then return {} end
grow_on_a_full_server()
if tonumber(flags) < 2 then
  flags = string.format('%d', flags + 2)
  call('HSET', queues, ARGV[1], number .. ':' .. shards .. ':' .. flags)
end
changed()
return {number, shards, flags}
