-- KEYS: log, dead, ages, meta, a closed log of the dead's shard. ARGV, per payload: count, bytes of the
-- entry. Answers how many were revived, or -1: there is no such log, or the dead may not be changed any more,
-- and nothing was written.
if call('EXISTS', KEYS[1]) == 0 or call('EXISTS', KEYS[5]) == 1 then return -1 end
local revived = {}
for at = 1, #ARGV, 2 do
  if take_dead(KEYS[2], KEYS[3], KEYS[4], ARGV[at]) then revived[#revived + 1] = ARGV[at + 1] end
end
local place = {}
for i, bytes in ipairs(revived) do add_entry(KEYS[1], place, bytes, #revived - i) end
return #revived
