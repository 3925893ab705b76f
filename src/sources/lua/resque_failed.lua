-- Moves failed jobs of Resque from the beginning of their list into the stream of what is taken.
-- KEYS: the list, the stream. ARGV: how many, as what. Answers how many.
local call = redis.call
if redis.replicate_commands then redis.replicate_commands() end
local jobs = call('LRANGE', KEYS[1], 0, ARGV[1] - 1)
for _, job in ipairs(jobs) do call('XADD', KEYS[2], '*', 'queue', '', 'job', job, 'set', ARGV[2], 'score', '') end
call('LTRIM', KEYS[1], #jobs, -1)  -- last: what fails before it loses nothing
return #jobs
