-- KEYS: histories, wake. ARGV: 1 behind a setback, or 0; of each server its name, and its history's run, name
-- and the one before. Notes all that. Answers how many µs ago a setback was noted last; or nothing.
-- SlotMap::look_at_history() decides likewise.
local call, histories, wake = redis.call, KEYS[1], KEYS[2]
call('XDEL', wake, '0-1')
local all = redis.pcall('HGETALL', histories)
if all.err then return end
local known, names, knows_some = {}, {}, false
for i = 1, #all, 2 do
  local run, name = string.match(all[i + 1], '^(%S*) (%S*)$')
  if run then
    known[all[i]] = {run = run, name = name}
    names[name] = true
    knows_some = true
  end
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local function went_back() call('HSET', histories, 'setback', string.format('%.0f', now)) end
if ARGV[1] == '1' then went_back() end
for i = 2, #ARGV, 4 do
  local server, run, name, before = unpack(ARGV, i, i + 3)
  local last = known[server]
  if not names[name] then
    local is_successor = knows_some and string.find(before, '[^0]')
    if last and last.run ~= run then is_successor = true end
    if is_successor then went_back() end
  end
  if not last or last.run ~= run or last.name ~= name then call('HSET', histories, server, run .. ' ' .. name) end
end
local at = tonumber(call('HGET', histories, 'setback') or '')
if not at or not (at > 0) then return end
if at > now then  -- the clock went back, and all would wait until it has come as far again
  went_back()
  at = now
end
return string.format('%.0f', now - at)
