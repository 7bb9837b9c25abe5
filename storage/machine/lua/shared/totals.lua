-- How many jobs of each queue came and ended: since ever, and by minute and hour for charts.

local job_counts = {}  -- by queue: how many of each this step brings about, by name
local function count_jobs(queue, what, n)
  local its = job_counts[queue]
  if not its then
    its = {}
    job_counts[queue] = its
  end
  its[what] = (its[what] or 0) + n
end

-- Six totals from a text, and the place behind them; nothing when they are none, or more than there can be.
local function read_totals(value, from)
  local a, b, c, d, e, f, behind = match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)()', from)
  if a and math.max(a, b, c, d, e, f) <= longest then return {a + 0, b + 0, c + 0, d + 0, e + 0, f + 0}, behind end
end
local function write_totals(t) return format('%d %d %d %d %d %d', unpack(t)) end
-- The minute of the last change, and the totals since ever.
local function read_last(value)
  local minute, at = match(value, '^(%d+) ()')
  minute = tonumber(minute)
  if minute and minute < longest / 60000000 then return minute, read_totals(value, at) end
end

-- Adds what a minute has brought, which is over for these queues, to the list of its hour, and with an hour to the list
-- of its day: of the queue, and under the empty name of all together. Removes lists that are too old, and the oldest
-- while all are too large. `over`: name, minute and totals of each, of none for the removals alone. Looks at all before
-- it writes. What it calls is made in it: hardly any step ends a minute, and a function costs each that has it.
local function end_minutes(over, now_minute)
  local function growth(t, before)
    local grown = {}
    for i = 1, 6 do grown[i] = math.max(0, t[i] - before[i]) end
    return grown
  end
  local lists = {}  -- what changes: by key, by name
  local function rows_of(kind, slot, name)
    local its = kind .. ':' .. int_text(slot)
    local list = lists[its] or {key = P .. ':' .. its, rows = {}, grown = 0}
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
    local head = ',' .. int_text(place) .. ' '
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

  local sizes, known = {}, call('HGETALL', total_sizes)
  for i = 1, #known, 2 do sizes[known[i]] = math.max(0, math.min(tonumber(known[i + 1]) or 0, longest)) end
  for its, list in pairs(lists) do sizes[its] = (sizes[its] or 0) + list.grown end
  -- All lists, those that end first at first; which are too old, or said to be larger than all may be.
  local all, sum = {}, 0
  for its, size in pairs(sizes) do
    local kind, slot = match(its, '^(%l+):(%d+)$')
    local ends = ((tonumber(slot) or 0) + 1) * (kind == 'hours' and 24 or 1)
    local kept = kind == 'hours' and days_of_hours * 24 or hours_of_minutes
    local goes = ends <= now_minute / 60 - kept or size > max_total_bytes
    all[#all + 1] = {its = its, size = size, ends = ends, goes = goes,
                     key = (kind == 'minutes' or kind == 'hours') and P .. ':' .. its}
    sum = sum + (goes and 0 or size)
  end
  table.sort(all, function(a, b) return a.ends < b.ends or a.ends == b.ends and by_bytes(a.its, b.its) end)
  many('HSET', totals_before, before)  -- first: a Redis that is out of memory refuses it, and a removal it would not
  for _, a in ipairs(all) do
    local list = lists[a.its]
    if a.goes or sum > max_total_bytes then
      if not a.goes then sum = sum - a.size end
      if a.key then call('UNLINK', a.key) end
      call('HDEL', total_sizes, a.its)
    elseif list then
      local fields = {}
      for name, rows in pairs(list.rows) do fields[#fields + 1], fields[#fields + 2] = name, rows end
      call('HSET', total_sizes, a.its, int_text(a.size))
      many('HSET', a.key, fields)
    end
  end
end
-- What a row becomes when only jobs come, in the minute that it speaks of: all behind their number stays as it stands.
-- Nothing when it speaks of another minute, or cannot be read.
local function with_more_enqueued(value, n)
  local minute, before, others = match(value, '^(%d+) (%d+)( %d+ %d+ %d+ %d+ %d+)$')
  if minute and minute + 0 == math.floor(now / 60000000) and before + 0 <= longest then
    return minute .. ' ' .. int_text(before + n) .. others
  end
end

-- Writes what was counted, by queue, which is `job_counts` or of that form: after all that a script looks at, and before
-- whatever else it writes.
local function keep_totals(counted)
  local now_minute, over, anew, changed = math.floor(now / 60000000), nil, {}, {}
  for queue, its in pairs(counted) do
    local a, b, c, d, e, f = its.enqueued, its.succeeded, its.failed, its.deleted, its.retry, its.lost
    if a or b or c or d or e or f then  -- other ends are not counted
      local value = call('HGET', totals, queue)
      local minute, t = read_last(value or '')
      if not t then
        minute, t = now_minute, {0, 0, 0, 0, 0, 0}
        if value then anew[#anew + 1], anew[#anew + 2] = queue, '0 0 0 0 0 0 0 0 0 0 0 0' end
      elseif now_minute > minute or now_minute < minute - 60 then  -- what comes late counts as the last minute's
        over = over or {}
        over[#over + 1] = {name = queue, minute = minute, totals = t}
        minute = now_minute
      end
      changed[#changed + 1], changed[#changed + 2] =
        queue, format('%d %d %d %d %d %d %d', minute, t[1] + (a or 0), t[2] + (b or 0), t[3] + (c or 0),
                      t[4] + (d or 0), t[5] + (e or 0), t[6] + (f or 0))
    end
  end
  if over then end_minutes(over, now_minute) end
  many('HSET', totals_before, anew)
  many('HSET', totals, changed)
  for queue in pairs(counted) do counted[queue] = nil end  -- a step may count again
end
