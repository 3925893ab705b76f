-- ARGV: name, number, shards. Answers number, shards, flags: of another if that was faster.
local number, shards, flags = definition(ARGV[1])
if number then return {number, shards, flags} end
if call('HEXISTS', queues, ARGV[1]) == 1 then return {'0', '0', '0'} end
call('HSET', queues, ARGV[1], ARGV[2] .. ':' .. ARGV[3] .. ':0')
changed()
return {ARGV[2], ARGV[3], '0'}
