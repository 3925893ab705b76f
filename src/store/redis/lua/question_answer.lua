-- KEYS: questions, question, answer. ARGV: id, bytes, ms.
redis.call('LREM', KEYS[1], 1, ARGV[1])
if redis.call('DEL', KEYS[2]) == 1 then redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3]) end
return 0
