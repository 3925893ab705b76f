-- For scripts that write entries: the members of one append follow each other without a gap, and all but the last say how
-- many follow. The next millisecond is begun early when this one is half used up.
local call = redis.call
local function add_entry(log, place, bytes, more)
  local id = '*'
  if place.ms then id = place.ms .. '-' .. string.format('%d', place.n + 1) end
  if more > 0 then id = call('XADD', log, id, 'e', bytes, 'm', more)
  else id = call('XADD', log, id, 'e', bytes) end
  if not place.ms then
    local ms, n = string.match(id, '^(%d+)-(%d+)$')
    place.ms, place.n = ms, tonumber(n)
  else
    place.n = place.n + 1
  end
  if more == 0 and place.n >= 2097152 then
    call('XSETID', log, string.format('%.0f', tonumber(place.ms) + 1) .. '-0')
  end
end
-- The first of the logs, from this place in KEYS on, that does not exist.
local function missing_log(first)
  for i = first, #KEYS do
    if call('EXISTS', KEYS[i]) == 0 then return i end
  end
end
-- To each of them, from this place in ARGV on: how many entries, then their bytes.
local function add_entries(first, at)
  for i = first, #KEYS do
    local place = {}
    local count = tonumber(ARGV[at])
    for j = 1, count do add_entry(KEYS[i], place, ARGV[at + j], count - j) end
    at = at + count + 1
  end
end
