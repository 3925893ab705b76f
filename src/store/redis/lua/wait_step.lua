-- KEYS: waits, listed, ages, logs. ARGV: key, 1 if something was seen, that, bytes, 1 if it is listed, µs
-- (`''`: never, `gone`: the row is taken away), then per log: how many entries, and their bytes. Answers 0 (done),
-- 1 (another row) and its bytes, or 2 (no such log). It takes some rows away whose time is over.
local key, has_seen, seen, bytes, listed, til = unpack(ARGV, 1, 6)
sweep(key)
local is = call('HGET', KEYS[1], key)
if (has_seen == '1' and is ~= seen) or (has_seen ~= '1' and is) then return {1, is} end
if missing_log(4) then return {2, false} end
if til == 'gone' then drop(key) else put(key, bytes, listed, til) end
add_entries(4, 7)
return {0, false}
