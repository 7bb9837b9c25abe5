-- What Redis and Lua give to the library, as its own locals: a global is looked for in two tables at each use. Redis
-- has none of it while it loads a library, so the first call fetches it (base.fetch_prelude). Nothing else is assigned
-- to by a function and lives on behind its call.
-- What is not one value is nil. Redis raises, or unpacks the first of several; the embedded store, which has no pcall,
-- does neither.
local function reader(pack, catch)
  if not catch then return pack.unpack end
  return function(bytes)
    local done, behind, value = catch(pack.unpack_one, bytes)
    if done and behind == -1 then return value end
  end
end
local function fetch()
  return redis.call, redis.pcall, redis.acl_check_cmd, string, string.match, string.sub, string.byte, string.format,
         table, math, tonumber, ipairs, pairs, next, unpack, type, setmetatable, error, cmsgpack.pack,
         reader(cmsgpack, redis.acl_check_cmd and pcall)
end
local call, pcall, may_run, string, match, sub, byte, format, table, math, tonumber
local ipairs, pairs, next, unpack, type, setmetatable, error, pack_value, unpack_value
