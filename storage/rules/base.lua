-- What every call begins with: what it knows of the store and of itself stands in one `step`, which is made for it and
-- given to whatever it calls. The library's own tables and variables are never assigned to by a function: they live on
-- from call to call, also behind one that ended by an error.

-- How long one may be told to wait, whatever a score says: a longer time is no whole number.
base.longest = 4503599627370496  -- 2^52 microseconds
-- Of what is stored.
base.layout = constants.layout .. ''

-- A field of a step that was not assigned yet has what `fresh` says of it: a value, or a function that makes one.
local fields = {__index = function(step, name)
  local value = fresh[name]
  if type(value) == 'function' then value = value(step) end
  if value == nil then error('a step knows no ' .. name) end
  step[name] = value
  return value
end}
-- Keys by their names (keys.lua), of each prefix that was met: a store has one, and its keys never change.
local keys_of_prefix = {}
local function keys_of(prefix)
  local known = keys_of_prefix[prefix]
  if known then return known end
  known = {}
  for name, behind in pairs(keys.names) do known[name] = prefix .. behind end
  keys_of_prefix[prefix] = known
  return known
end

-- A double holds whole numbers below 2^53 exactly, but tostring rounds them to 14 digits.
function base.int_text(n) return format('%d', n) end

-- Before anything else of a call.
function base.fetch_prelude()
  if call then return end
  call, pcall, may_run, string, match, sub, byte, format, table, math, tonumber, ipairs, pairs, next, unpack, type,
    setmetatable, error, pack_value, unpack_value = fetch()
end

-- The step of a call. KEYS[1] is the prefix, as {sluice}: its braces keep all keys in one slot. ARGV[1] is the instant
-- in microseconds, or empty for the clock of Redis; ARGV[2] names who asks, so that it can tell its own hints from
-- others'. What the call is asked stands behind them, from ARGV[3].
function base.begin(KEYS, ARGV)
  local its_keys, now = keys_of(KEYS[1]), tonumber(ARGV[1])
  if not now then
    local t = call('TIME')
    now = t[1] * 1000000 + t[2]
  end
  local stored = call('MGET', its_keys.schema, its_keys.number_key, its_keys.flow_mark)
  return setmetatable({args = ARGV, prefix = KEYS[1], keys = its_keys, now = now, now_text = base.int_text(now),
                       stored = stored, has_flow = stored[3], is_drawn = false,
                       last_number = stored[2] and numbers.read_last(stored[2]) or nil, woken = 0, hint_size = 0,
                       hint_words = ''}, fields)
end

-- A layout that we do not know is left as it is: answers the refusal.
function base.refusal_of_layout(step)
  local found = step.stored[1]
  if found and found ~= base.layout then return {err = 'LAYOUT ' .. found .. ' ' .. base.layout} end
end
-- Of whoever puts something into a store that says no layout, since all was thrown away under a program that is
-- connected: a newer version must not take that for its own.
function base.say_layout(step)
  if not step.stored[1] then call('SET', step.keys.schema, base.layout) end
end

-- Lua has no rollback, so each call looks at everything it will touch before its first write: a command that reads a
-- key raises when the key is of another type. This one does so for a key that will be written as a sorted set.
function fresh.is_sorted() return {} end
function base.sorted(step, key)
  if not step.is_sorted[key] then
    call('ZCARD', key)
    step.is_sorted[key] = true
  end
  return key
end
