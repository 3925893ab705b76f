-- ARGV: name of a closed queue, number of the one that takes its place. Answers what the first was: number,
-- shards, flags; or nothing: there are not both. What stands under the first number is then nobody's:
-- `left:N` in `registry` says so until it is removed.
local number, shards, flags = definition(ARGV[1])
if not number or tonumber(flags) < 2 or number == ARGV[2] then return {} end
local all = call('HGETALL', queues)
for i = 2, #all, 2 do
  local by, by_shards, by_flags = string.match(all[i], '^(%d+):(%d+):(%d)$')
  if by == ARGV[2] then
    call('HDEL', queues, all[i - 1])
    local paused_or_closed = string.format('%d', flags % 2 + by_flags - by_flags % 2)
    call('HSET', queues, ARGV[1], by .. ':' .. by_shards .. ':' .. paused_or_closed)
    call('HSET', registry, 'left:' .. number, shards)
    changed()
    return {number, shards, flags}
  end
end
return {}
