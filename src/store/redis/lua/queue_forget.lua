-- ARGV: name, number. Answers whether it was there still.
if definition(ARGV[1]) ~= ARGV[2] then return 0 end
call('HDEL', queues, ARGV[1])
changed()
return 1
