-- How many jobs of each queue came and ended: since ever, and by minute and hour for charts.

local total_of = {enqueued = 1, succeeded = 2, failed = 3, deleted = 4, retry = 5, lost = 6}
local job_counts = {}  -- by queue: how many of each this step brings about
-- Ends of other kinds are not counted.
local function count_jobs(queue, what, n)
  local which = total_of[what]
  if not which then return end
  local its = job_counts[queue]
  if not its then
    its = {0, 0, 0, 0, 0, 0}
    job_counts[queue] = its
  end
  its[which] = its[which] + n
end

-- Six totals from a text, and the place behind them; nothing when they are none, or more than there can be.
local function read_totals(value, from)
  local a, b, c, d, e, f, behind = match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)()', from)
  if not a then return end
  local t = {tonumber(a), tonumber(b), tonumber(c), tonumber(d), tonumber(e), tonumber(f)}
  if math.max(unpack(t)) <= longest then return t, behind end
end
local function write_totals(t) return format('%d %d %d %d %d %d', unpack(t)) end
-- The minute of the last change, and the totals since ever.
local function read_last(value)
  local minute, at = match(value, '^(%d+) ()')
  minute = tonumber(minute)
  if minute and minute < longest / 60000000 then return minute, read_totals(value, at) end
end

-- The lists of minutes and hours with their sizes, those that end first at first; which are too old, or said to be larger
-- than all may be.
local function total_lists(sizes, now_minute)
  local all = {}
  for its, size in pairs(sizes) do
    local kind, slot = match(its, '^(%l+):(%d+)$')
    local ends = ((tonumber(slot) or 0) + 1) * (kind == 'hours' and 24 or 1)
    local kept = kind == 'hours' and days_of_hours * 24 or hours_of_minutes
    all[#all + 1] = {its = its, size = size, ends = ends, key = (kind == 'minutes' or kind == 'hours') and P .. ':' .. its,
                     goes = ends <= now_minute / 60 - kept or size > most_total_bytes}
  end
  table.sort(all, function(a, b) return a.ends < b.ends or a.ends == b.ends and by_bytes(a.its, b.its) end)
  return all
end
local function sizes_of_totals()
  local sizes, known = {}, call('HGETALL', total_sizes)
  for i = 1, #known, 2 do sizes[known[i]] = math.max(0, math.min(tonumber(known[i + 1]) or 0, longest)) end
  return sizes
end
local function drop_totals(list)
  if list.key then call('UNLINK', list.key) end
  call('HDEL', total_sizes, list.its)
end
-- Those that are too old, also when nothing counts any more.
local function drop_old_totals()
  for _, list in ipairs(total_lists(sizes_of_totals(), now / 60000000)) do
    if list.goes then drop_totals(list) end
  end
end

-- Adds what a minute has brought, which is over for these queues, to the list of its hour, and with an hour to the list
-- of its day: of the queue, and under the empty name of all together. Removes lists that are too old, and the oldest
-- while all are too large. `over`: name, minute and totals of each. Looks at all before it writes.
local function end_minutes(over, now_minute)
  local function growth(t, before)
    local grown = {}
    for i = 1, 6 do grown[i] = math.max(0, t[i] - before[i]) end
    return grown
  end
  local lists = {}  -- what changes: by key, by name
  local function rows_of(kind, slot, name)
    local its = kind .. ':' .. whole(slot)
    local list = lists[its] or {key = total_list(kind, slot), rows = {}, grown = 0}
    lists[its] = list
    if not list.rows[name] then
      local rows = call('HGET', list.key, name)
      list.rows[name] = rows or ''
      if not rows then list.grown = list.grown + #name + 100 end  -- what a store needs for a field
    end
    return list, list.rows[name]
  end
  local largest = 8192  -- sixty rows of a busy queue are a third of it
  local function add(kind, slot, name, place, grown)
    local list, rows = rows_of(kind, slot, name)
    if #rows > largest then return end
    local head = ',' .. whole(place) .. ' '
    local from = string.find(rows, head, 1, true)
    local its, behind = read_totals(rows, (from or #rows) + #head)
    local sum = {}
    for i = 1, 6 do sum[i] = grown[i] + (its and its[i] or 0) end
    local row = head .. write_totals(sum)
    list.rows[name] = its and sub(rows, 1, from - 1) .. row .. sub(rows, behind) or rows .. row
    list.grown = list.grown + #list.rows[name] - #rows
  end

  local before, none = {}, {0, 0, 0, 0, 0, 0}
  for _, o in ipairs(over) do
    local value, hour = call('HGET', totals_before, o.name), math.floor(o.minute / 60)
    -- Nothing is known of when it began; of what cannot be read nothing is said to have been brought.
    local otherwise = value and o.totals or none
    local of_minute, at = read_totals(value or '', 1)
    local of_hour = at and read_totals(value, at + 1) or otherwise
    local grown = growth(o.totals, of_minute or otherwise)
    add('minutes', hour, o.name, o.minute % 60, grown)
    add('minutes', hour, '', o.minute % 60, grown)
    if hour ~= math.floor(now_minute / 60) then
      grown, of_hour = growth(o.totals, of_hour), o.totals
      add('hours', math.floor(hour / 24), o.name, hour % 24, grown)
      add('hours', math.floor(hour / 24), '', hour % 24, grown)
    end
    before[#before + 1], before[#before + 2] = o.name, write_totals(o.totals) .. ' ' .. write_totals(of_hour)
  end

  local sizes, sum = sizes_of_totals(), 0
  for its, list in pairs(lists) do sizes[its] = (sizes[its] or 0) + list.grown end
  local all = total_lists(sizes, now_minute)
  for _, a in ipairs(all) do sum = sum + (a.goes and 0 or a.size) end
  many('HSET', totals_before, before)  -- first: a Redis that is out of memory refuses it, and a removal it would not
  for _, a in ipairs(all) do
    if a.goes then
      drop_totals(a)
    elseif sum > most_total_bytes then
      sum = sum - a.size
      drop_totals(a)
    elseif lists[a.its] then
      local fields = {}
      for name, rows in pairs(lists[a.its].rows) do fields[#fields + 1], fields[#fields + 2] = name, rows end
      call('HSET', total_sizes, a.its, whole(a.size))
      many('HSET', a.key, fields)
    end
  end
end

-- Writes what was counted: after all that a script looks at, and before whatever else it writes.
local function keep_totals()
  local now_minute, over, anew, changed = math.floor(now / 60000000), nil, {}, {}
  for queue, counts in pairs(job_counts) do
    local value = call('HGET', totals, queue)
    local minute, t = read_last(value or '')
    if not t then
      minute, t = now_minute, {0, 0, 0, 0, 0, 0}
      if value then anew[#anew + 1], anew[#anew + 2] = queue, '0 0 0 0 0 0 0 0 0 0 0 0' end
    elseif now_minute > minute or now_minute < minute - 60 then  -- what comes late counts as the last minute's
      over = over or {}
      over[#over + 1] = {name = queue, minute = minute, totals = {unpack(t)}}
      minute = now_minute
    end
    for i = 1, 6 do t[i] = t[i] + counts[i] end
    changed[#changed + 1], changed[#changed + 2] = queue, whole(minute) .. ' ' .. write_totals(t)
  end
  job_counts = {}
  if over then end_minutes(over, now_minute) end
  many('HSET', totals_before, anew)
  many('HSET', totals, changed)
end
