-- ARGV: key, 1 if something was seen, that, bytes, 1 if it is listed, µs or ''. Answers whether it was
-- written.
local key, has_seen, seen, bytes, listed, til = unpack(ARGV)
forget_if_over(key, 0)
local is = call('HGET', KEYS[1], key)
if has_seen == '1' then
  if is ~= seen then return 0 end
elseif is then
  return 0
end
put(key, bytes, listed, til)
return 1
