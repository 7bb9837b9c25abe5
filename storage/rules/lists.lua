-- Lists, and commands that take one.

-- Lists by key, for one variadic command each: a table that is empty at first, then has the list of each key under it,
-- and the keys in the order in which they came under 1, 2, 3. `n` of a list is its size.
local function list_of(group, key)
  local list = group[key]
  if not list then
    list = {n = 0}
    group[key], group[#group + 1] = list, key
  end
  return list
end
function lists.add_one(group, key, value)
  local list = group[key] or list_of(group, key)
  local n = list.n + 1
  list[n], list.n = value, n
end
function lists.add_two(group, key, first, second)
  local list = group[key] or list_of(group, key)
  local n = list.n
  list[n + 1], list[n + 2], list.n = first, second, n + 2
end
local max_at_once = 4000  -- arguments of one call; Lua's stack ends at 8000
function lists.each_list(group, command)
  for _, key in ipairs(group) do
    local list = group[key]
    for from = 1, #list, max_at_once do
      call(command, key, unpack(list, from, math.min(from + max_at_once - 1, #list)))
    end
  end
end
local nothing = {}  -- is never written to
function lists.many(command, key, list)
  if #list == 0 then return nothing end
  if #list <= max_at_once then return call(command, key, unpack(list)) end
  local all = {}
  for from = 1, #list, max_at_once do
    local part = call(command, key, unpack(list, from, math.min(from + max_at_once - 1, #list)))
    if type(part) == 'table' then for _, one in ipairs(part) do all[#all + 1] = one end end
  end
  return all
end

-- Writes fields of a hash whose values are short. Redis keeps a small one as a list, which each look reads from its
-- beginning, unless it ever had a value longer than hash-max-listpack-value; where many come at once they are worth a
-- table.
function lists.put(key, fields)
  local several = #fields > 32
  if several then call('HSET', key, '', ('-'):rep(65), fields[1], fields[2]) end
  lists.many('HSET', key, fields)
  if several then call('HDEL', key, '') end
end

-- Which of two texts is first, by bytes: Lua would compare by the locale of whoever runs it.
function lists.by_bytes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
