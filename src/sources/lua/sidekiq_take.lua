-- Moves jobs from the ends of lists into the stream of those that are taken, bytes untouched, and answers those behind the
-- position of the store.
-- KEYS: the stream, the key of who takes, the set of paused queues, then the lists.
-- ARGV: who asks, for how many ms, the position, the id behind it, how many jobs to answer, how many the stream may
-- have, RPOP or LPOP, then the names of the lists' queues. With a position '$' or '$ID' nothing is moved.
-- Answers {0, ms}: another process takes, for so long. {2, last id}: the stream ends before the position.
-- {1, position, entries}; for '$ID' the position is ID, or the end of the stream if it ends before that.
local call = redis.call
if redis.replicate_commands then redis.replicate_commands() end
local taker = call('GET', KEYS[2])
if taker and taker ~= ARGV[1] then return {0, call('PTTL', KEYS[2])} end
-- A write that a full server allows: then it allows the others, which only move what is there.
call('PEXPIRE', KEYS[2], ARGV[2])
call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])

local last = '0-0'
if call('EXISTS', KEYS[1]) == 1 then
  local facts = call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #facts, 2 do
    if facts[i] == 'last-generated-id' then last = facts[i + 1] end
  end
end
local is_reset = string.sub(ARGV[3], 1, 1) == '$'
local position = is_reset and string.sub(ARGV[3], 2) or ARGV[3]
if position == '' then return {1, last, {}} end
local function parts(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(n)
end
local last_ms, last_n = parts(last)
local ms, n = parts(position)
if last_ms < ms or (last_ms == ms and last_n < n) then
  if is_reset then return {1, last, {}} end
  return {2, last}
end
if is_reset then return {1, position, {}} end

call('XTRIM', KEYS[1], 'MINID', ARGV[4])
local room = tonumber(ARGV[6]) - call('XLEN', KEYS[1])
for i = 4, #KEYS do
  local queue = ARGV[i + 4]
  if room > 0 and call('SISMEMBER', KEYS[3], queue) == 0 then
    -- Each list has its part, so that a long one does not keep the others waiting.
    local jobs = call(ARGV[7], KEYS[i], math.ceil(room / (#KEYS - i + 1)))
    for _, job in ipairs(jobs or {}) do
      call('XADD', KEYS[1], '*', 'queue', queue, 'job', job)
      room = room - 1
    end
  end
end
return {1, position, call('XRANGE', KEYS[1], '(' .. position, '+', 'COUNT', ARGV[5])}
