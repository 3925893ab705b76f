-- ARGV: node, seen renewals ('': any). Answers whether it was forgotten.
local renewals = call('HGET', nodes, ARGV[1])
if not renewals or (ARGV[2] ~= '' and ARGV[2] ~= renewals) then return 0 end
grow_on_a_full_server()
call('HDEL', nodes, ARGV[1])
call('HDEL', facts, ARGV[1])
call('HDEL', requests, ARGV[1])
return 1
