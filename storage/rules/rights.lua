-- Which commands a user of Redis must be allowed to run. They are asked for when a connection that writes begins: one
-- that is refused later may stop a call half way.

-- All but PUBLISH: who may not publish is heard by the sweep.
local commands = {'DEL', 'EXISTS', 'GET', 'HDEL', 'HEXISTS', 'HGET', 'HGETALL', 'HKEYS', 'HLEN', 'HMGET', 'HSCAN',
                  'HSET', 'HSETNX', 'HSTRLEN', 'HVALS', 'MGET', 'SADD', 'SCAN', 'SCARD', 'SET', 'SISMEMBER',
                  'SMEMBERS', 'SREM', 'SSCAN', 'TIME', 'UNLINK', 'ZADD', 'ZCARD', 'ZCOUNT', 'ZRANGE', 'ZREM',
                  'ZSCAN', 'ZSCORE'}
local without_key = {SCAN = true, TIME = true}

-- What the first call of a connection is refused with, if it is.
function rights.refusal(prefix)
  local missing = {}
  for _, command in ipairs(commands) do
    local may = may_run == nil or without_key[command] and may_run(command, '0') or
                may_run(command, prefix .. keys.names.schema, '0', '0')
    if not may then missing[#missing + 1] = command end
  end
  if #missing > 0 then return {err = 'RIGHTS ' .. table.concat(missing, ' ')} end
end
