-- ARGV: key, µs that the clock is not believed. Answers the bytes, or nothing.
local call = redis.call
local time = call('TIME')
local age = call('ZSCORE', KEYS[3], ARGV[1])
if age and tonumber(age) <= time[1] * 1000000 + time[2] - ARGV[2] then return false end
return call('HGET', KEYS[1], ARGV[1])
