-- Lists, and commands that take one.

-- Lists by key, in the order the keys came, for one variadic command each.
function lists.grouped() return {order = {}, of = {}, size = {}} end
local function into(group, key)
  local list = group.of[key]
  if not list then
    list = {}
    group.of[key], group.size[key] = list, 0
    group.order[#group.order + 1] = key
  end
  return list
end
function lists.add_one(group, key, value)
  local list = group.of[key] or into(group, key)
  local size = group.size[key] + 1
  list[size], group.size[key] = value, size
end
function lists.add_two(group, key, first, second)
  local list = group.of[key] or into(group, key)
  local size = group.size[key]
  list[size + 1], list[size + 2], group.size[key] = first, second, size + 2
end
local max_at_once = 4000  -- arguments of one call; Lua's stack ends at 8000
function lists.each_list(group, command)
  for _, key in ipairs(group.order) do
    local list = group.of[key]
    for from = 1, #list, max_at_once do
      call(command, key, unpack(list, from, math.min(from + max_at_once - 1, #list)))
    end
  end
end
function lists.many(command, key, list)
  if #list == 0 then return {} end
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
