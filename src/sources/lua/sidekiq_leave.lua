-- KEYS: the key of who takes, the stream. ARGV: who leaves, if it was that one; the id behind the position of the store.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('XTRIM', KEYS[2], 'MINID', ARGV[2]) end
return redis.call('DEL', KEYS[1])
