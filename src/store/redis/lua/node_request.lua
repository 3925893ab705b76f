-- ARGV: node, what is wished of it. Answers whether it is registered.
if call('HEXISTS', nodes, ARGV[1]) == 0 then return 0 end
grow_on_a_full_server()
call('HSET', requests, ARGV[1], ARGV[2])
wake_all()
return 1
