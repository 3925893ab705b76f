-- ARGV: name. Answers number, shards, flags; or the number alone that a new queue of this name may have.
local number, shards, flags = definition(ARGV[1])
if number then return {number, shards, flags} end
if call('HEXISTS', queues, ARGV[1]) == 1 then return {'0', '0', '0'} end  -- what cannot be read stays as it is
local number = call('HINCRBY', registry, 'queue', 1)
if number == 1 then  -- the first of all; or the server has evicted the count
  local all = call('HGETALL', queues)
  for i = 2, #all, 2 do number = math.max(number, 1 + (tonumber(string.match(all[i], '^%d+')) or 0)) end
  call('HSET', registry, 'queue', string.format('%d', number))
end
return {string.format('%d', number)}
