-- For scripts that know entries which were set aside: members of a sorted set without scores, in the order of their
-- numbers.
local call = redis.call
local function aside_name(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return string.format('%011x%06x', tonumber(ms), tonumber(n))
end
