-- For scripts on queues and nodes, which belong to no shard. KEYS: those of the registry, in the order of
-- registry_call() (scripts.cpp).
local call = redis.call
local queues, registry, nodes, facts, requests, wake = unpack(KEYS)
local function grow_on_a_full_server() call('XDEL', wake, '0-1') end
local function wake_all() call('XADD', wake, 'MAXLEN', '1', '*', 'w', '') end
-- What other versions of Ordo look at before they touch anything: kSchema (keys.h).
local function name_schema() call('HSETNX', registry, 'schema', '1') end
local function changed()
  name_schema()
  call('HINCRBY', registry, 'version', 1)
  wake_all()
end
local function definition(name)
  local text = call('HGET', queues, name)
  if not text then return nil end
  return string.match(text, '^(%d+):(%d+):(%d)$')
end
