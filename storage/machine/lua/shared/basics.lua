-- What scripts begin with: Redis' commands, the prefix, the layout, the instant.
--
-- KEYS[1] is the prefix, as {sluice}: its braces keep all keys in one slot. ARGV[1] is the instant in microseconds, or
-- empty for the clock of Redis; ARGV[2] names who asks, so that it can tell its own hints from others'.
--
-- Lua has no rollback, so each script looks at everything it will touch before its first write: a command that reads a
-- key raises when the key is of another type.
local call = redis.call
local match = string.match
local sub = string.sub
local byte = string.byte
local format = string.format

local P = KEYS[1]
local schema = P .. ':schema'      -- the layout of what is stored
local number_key = P .. ':number'  -- the last fence or place that was drawn
local flow_mark = P .. ':flow_mark'  -- there when jobs wait for others, so that those that do not pay nothing

-- Every script begins with this look. A layout that we do not know is left as it is.
local layout = '4'
local stored = call('MGET', schema, number_key, flow_mark)
if stored[1] and stored[1] ~= layout then return {err = 'LAYOUT ' .. stored[1] .. ' ' .. layout} end
local has_flow = stored[3]
-- Of whoever puts something into a store that says no layout, since all was thrown away under a program that is
-- connected: a newer version must not take that for its own.
local function say_layout()
  if not stored[1] then call('SET', schema, layout) end
end

-- A double holds whole numbers below 2^53 exactly, but tostring rounds them to 14 digits.
local function int_text(n) return format('%d', n) end

local now = tonumber(ARGV[1])
if not now then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end
local now_text = int_text(now)
-- How long one may be told to wait, whatever a score says: a longer time is no whole number.
local longest = 4503599627370496  -- 2^52 microseconds

-- A key that will be written as a sorted set: raises now, before the first write, when it is something else.
local is_sorted = {}
local function sorted(key)
  if not is_sorted[key] then
    call('ZCARD', key)
    is_sorted[key] = true
  end
  return key
end
