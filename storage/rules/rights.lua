-- Which commands a user of Redis must be allowed to run. They are asked for when a connection that writes begins: one
-- that is refused later may stop a call half way.

-- All but PUBLISH, since who may not publish is heard by the sweep; by how many words stand behind the key. Redis 8 asks
-- for as many as the command has.
local commands = {
  [0] = {'DEL', 'EXISTS', 'GET', 'HGETALL', 'HKEYS', 'HLEN', 'HVALS', 'MGET', 'SCARD', 'SMEMBERS', 'UNLINK', 'ZCARD'},
  [1] = {'HDEL', 'HEXISTS', 'HGET', 'HMGET', 'HSCAN', 'HSTRLEN', 'SADD', 'SET', 'SISMEMBER', 'SREM', 'SSCAN', 'ZREM',
         'ZSCAN', 'ZSCORE'},
  [2] = {'HSET', 'HSETNX', 'ZADD', 'ZCOUNT', 'ZRANGE'},
}

-- What the first call of a connection is refused with, if it is. The embedded store allows all.
function rights.refusal(prefix)
  if not may_run then return nil end
  local missing, words = {}, {prefix .. keys.names.schema, '0', '0'}
  local function look_for(command, ...)
    if not may_run(command, ...) then missing[#missing + 1] = command end
  end
  look_for('TIME')
  look_for('SCAN', '0')
  for behind = 0, 2 do
    for _, command in ipairs(commands[behind]) do look_for(command, unpack(words, 1, behind + 1)) end
  end
  if #missing > 0 then return {err = 'RIGHTS ' .. table.concat(missing, ' ')} end
end
