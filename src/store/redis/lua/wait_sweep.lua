-- ARGV: how many at most, µs that the clock is not believed. Takes those away whose time is over, and answers how many they were.
local over = call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%d', now - ARGV[2]), 'LIMIT', '0', ARGV[1])
for _, gone in ipairs(over) do drop(gone) end
return #over
