-- KEYS: waits, listed, ages, logs. ARGV: key, 1 if something was seen, that, bytes, 1 if it is listed, µs
-- (`''`: never, `gone`: the row is taken away), µs that the clock is not believed, then per log: how many entries, and
-- their bytes. Answers 0 (done), 1 (another row) and its bytes, or 2 (no such log).
local key, has_seen, seen, bytes, listed, til, excess = unpack(ARGV, 1, 7)
forget_if_over(key, excess)
local is = call('HGET', KEYS[1], key)
if (has_seen == '1' and is ~= seen) or (has_seen ~= '1' and is) then return {1, is} end
if missing_log(4) then return {2, false} end
if til == 'gone' then drop(key) else put(key, bytes, listed, til) end
add_entries(4, 8)
return {0, false}
