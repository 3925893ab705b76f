-- KEYS, ARGV: as above. Makes what the server has evicted of a shard, empty; the rest of it stays.
if call('EXISTS', log, closed) == 0 then make_log() end
if call('EXISTS', meta) == 0 then make_meta(call('XLEN', dead), 1) end
return 1
