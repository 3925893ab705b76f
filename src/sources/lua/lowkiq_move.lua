-- Moves payloads of one Lowkiq job into the stream of what is taken, and the job out of its sets with the last of them.
-- KEYS: the stream, the set of its payloads, the set or hash of its times, the one of its retry counts, then what else has its id.
-- ARGV: its id, where it was found, how many payloads. Answers 1, or 0: nothing of it is there any more.
local call = redis.call
if redis.replicate_commands then redis.replicate_commands() end
local function type_of(key) return call('TYPE', key)['ok'] end
local function value_of(key)
  local kind = type_of(key)
  if kind == 'zset' then return call('ZSCORE', key, ARGV[1]) or '' end
  if kind == 'hash' then return call('HGET', key, ARGV[1]) or '' end
  return ''
end
local payloads = call('ZRANGE', KEYS[2], 0, ARGV[3] - 1, 'WITHSCORES')
if #payloads > 0 then
  call('XADD', KEYS[1], '*', 'queue', '', 'job', ARGV[1], 'set', ARGV[2], 'score', value_of(KEYS[3]),
       'retries', value_of(KEYS[4]), unpack(payloads))
  call('ZREMRANGEBYRANK', KEYS[2], 0, ARGV[3] - 1)
end
if call('EXISTS', KEYS[2]) == 0 then  -- last: what fails before it loses nothing
  for i = 3, #KEYS do
    local kind = type_of(KEYS[i])
    if kind == 'zset' then call('ZREM', KEYS[i], ARGV[1]) end
    if kind == 'hash' then call('HDEL', KEYS[i], ARGV[1]) end
  end
end
return #payloads > 0 and 1 or 0
