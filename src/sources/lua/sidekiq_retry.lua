-- Brings a failed job into Sidekiq's set of retries, once.
-- KEYS: that set, the key of who takes, the key that says that it was brought.
-- ARGV: who asks, its score, its bytes, how many seconds that is remembered if nobody takes it back.
-- Answers 1: it is there, or was; 0: another process takes, and brings it.
local call = redis.call
if call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
if call('EXISTS', KEYS[3]) == 1 then return 1 end
call('ZADD', KEYS[1], ARGV[2], ARGV[3])
call('SET', KEYS[3], '1', 'EX', ARGV[4])  -- last: what fails before is done again
return 1
