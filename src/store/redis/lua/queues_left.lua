-- Answers the numbers of replaced queues whose shards may still be there, each with how many.
local all, left = call('HGETALL', registry), {}
for i = 1, #all, 2 do
  local number = string.match(all[i], '^left:(%d+)$')
  if number then
    left[#left + 1] = number
    left[#left + 1] = all[i + 1]
  end
end
return left
