-- KEYS: dead, ages, meta, a closed log. ARGV: counts of the payloads. Answers how many there were; -1: the
-- queue is closed.
if call('EXISTS', KEYS[4]) == 1 then return -1 end
local taken = 0
for i = 1, #ARGV do
  if take_dead(KEYS[1], KEYS[2], KEYS[3], ARGV[i]) then taken = taken + 1 end
end
return taken
