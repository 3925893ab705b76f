-- KEYS: kept, heads, a closed log. ARGV: number, head, body. Answers whether it was there; -1: the queue is
-- closed.
local call, rows, heads = redis.call, KEYS[1], KEYS[2]
if call('EXISTS', KEYS[3]) == 1 then return -1 end
if call('HEXISTS', rows, ARGV[1]) == 0 then return 0 end
call('ZREMRANGEBYSCORE', heads, ARGV[1], ARGV[1])
call('ZADD', heads, ARGV[1], ARGV[1] .. ':' .. ARGV[2])
call('HSET', rows, ARGV[1], ARGV[3])
return 1
