-- For scripts that make shards. KEYS: log, meta, the log's name when it is closed, dead. ARGV: the queue's name and
-- shards.
local call, log, meta, closed, dead = redis.call, unpack(KEYS)
local function make_log()
  call('XADD', log, '0-1', 'e', '')
  call('XDEL', log, '0-1')
end
local function make_meta(dead_rows, unclean)
  call('HSET', meta, 'owner', '', 'token', 0, 'holder', 0, 'batch', 0, 'position', 0,
       'counts', '', 'dead', dead_rows, 'dead_count', 0, 'trimmed', 0, 'unclean', unclean,
       'queue', ARGV[1], 'shards', ARGV[2])  -- should the registry be evicted
end
