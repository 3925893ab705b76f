-- Moves a job that is due out of a sorted set, once, whoever else tries to.
-- KEYS: the set, the stream of what is taken or the list of its queue, the set of all queues.
-- ARGV: the bytes of the job, the name of its queue, 'take' or 'push'; and, to be kept beside a job that is taken, the name of
-- the set and its score there. Answers 1, or 0: it is not there any more.
local call = redis.call
if redis.replicate_commands then redis.replicate_commands() end
if not call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if ARGV[4] then
  call('XADD', KEYS[2], '*', 'queue', ARGV[2], 'job', ARGV[1], 'set', ARGV[4], 'score', ARGV[5])
elseif ARGV[3] == 'take' then
  call('XADD', KEYS[2], '*', 'queue', ARGV[2], 'job', ARGV[1])
else
  call('SADD', KEYS[3], ARGV[2])
  call('LPUSH', KEYS[2], ARGV[1])
end
call('ZREM', KEYS[1], ARGV[1])  -- last: what fails before it loses nothing
return 1
