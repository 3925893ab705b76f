-- Another program may number an entry as it likes (XADD … 99999999999999-0), and the server numbers all that
-- follows behind it: beyond what a Seq can say, or in a time far ahead, which their jobs would wait for. Such
-- entries come to the end of the log again, in their order, and the log goes on from where it was. Nothing
-- stored speaks of them: they lie behind what any owner has read. All in one step, however many: the log
-- counts on from its highest entry. KEYS: log, meta. ARGV: id that was read up to, token, holder. Answers how
-- many there were.
local call, log, meta = redis.call, KEYS[1], KEYS[2]
local m = call('HMGET', meta, 'owner', 'token', 'holder', 'position')
if not m[1] or m[1] == '' or m[2] ~= ARGV[2] or m[3] ~= ARGV[3] then return 0 end
local time = call('TIME')
local limit = tonumber(time[1]) * 1000 + 86400000
local read = tonumber(string.match(ARGV[1], '^(%d+)-'))
local kept = math.max(read, math.floor(tonumber(m[4]) / 4194304))
local odd, at = {}, '(' .. ARGV[1]
while true do
  local page = call('XRANGE', log, at, '+', 'COUNT', 1000)
  if #page == 0 then break end
  for _, entry in ipairs(page) do
    local ms, n = string.match(entry[1], '^(%d+)-(%d+)$')
    ms, n = tonumber(ms), tonumber(n)
    if ms > math.max(limit, kept) or n > 4194303 then
      odd[#odd + 1] = entry
    else
      kept = math.max(kept, ms)
    end
  end
  if #page < 1000 or page[1000][1] == '18446744073709551615-18446744073709551615' then
    break  -- behind the highest id of all nothing can be asked for
  end
  at = '(' .. page[#page][1]
end
if #odd == 0 then return 0 end
for _, entry in ipairs(odd) do call('XDEL', log, entry[1]) end
local added = 0
local info = call('XINFO', 'STREAM', log)
for i = 1, #info, 2 do if info[i] == 'entries-added' then added = info[i + 1] end end
local last = string.format('%.0f-0', kept + 1)
local set = redis.pcall('XSETID', log, last, 'ENTRIESADDED', added, 'MAXDELETEDID', last)
if set.err then call('XSETID', log, last) end  -- before Redis 7
for _, entry in ipairs(odd) do
  local fields = entry[2]
  if #fields <= 4000 then call('XADD', log, '*', unpack(fields))
  else call('XADD', log, '*', 'fields', table.concat(fields, ' ')) end  -- more than a script can pass
end
return #odd
