-- Shows a dead job in Sidekiq's set of the dead, once, or takes it away again. Other members stay.
-- KEYS: that set, the hash of what is shown: by the job's name its score and the SHA1 of its bytes.
-- ARGV: the name of the job; and to show it: its score, its bytes.
-- Answers 1, or 0: it is so already. What others have taken out of the set does not come back.
local call = redis.call
if #ARGV == 1 then
  local shown = call('HGET', KEYS[2], ARGV[1])
  if not shown then return 0 end
  local score, hash = string.match(shown, '^(%S+) (%x+)$')
  for _, job in ipairs(call('ZRANGEBYSCORE', KEYS[1], score, score)) do
    if redis.sha1hex(job) == hash then
      call('ZREM', KEYS[1], job)
      break
    end
  end
  return call('HDEL', KEYS[2], ARGV[1])
end
if call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 0 end
call('ZADD', KEYS[1], ARGV[2], ARGV[3])
call('HSET', KEYS[2], ARGV[1], ARGV[2] .. ' ' .. redis.sha1hex(ARGV[3]))  -- last: what fails before it is done again
return 1
