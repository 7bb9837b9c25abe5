-- What Redis and Lua give to the library, as its own locals: a global is looked for in two tables at each use. Redis
-- has none of it while it loads a library, so the first call fetches it (base.fetch_prelude). Nothing else is assigned
-- to by a function and lives on behind its call.
-- What cannot be unpacked is nil: Redis raises then, and the embedded store, which has no pcall, does not.
local function reader(unpacked, catch)
  if not catch then return unpacked end
  return function(bytes)
    local done, value = catch(unpacked, bytes)
    return done and value or nil
  end
end
local function fetch()
  return redis.call, redis.pcall, redis.acl_check_cmd, string, string.match, string.sub, string.byte, string.format,
         table, math, tonumber, ipairs, pairs, next, unpack, type, setmetatable, error, cmsgpack.pack,
         reader(cmsgpack.unpack, redis.acl_check_cmd and pcall)
end
local call, pcall, may_run, string, match, sub, byte, format, table, math, tonumber
local ipairs, pairs, next, unpack, type, setmetatable, error, pack_value, unpack_value
