-- KEYS: log, meta, the log's name when it is closed, dead. ARGV: the queue's name and shards. Answers whether
-- nothing of such a shard was there: only then is it made.
if call('EXISTS', log, meta, closed, dead) > 0 then return 0 end
make_log()
make_meta(0, 0)
return 1
