-- How many jobs of each queue came and ended: since ever, and by minute and hour for charts.
local int_text, longest = base.int_text, base.longest
local many = lists.many

function fresh.job_counts() return {} end  -- by queue: how many of each this step brings about, by name
function totals.count_jobs(step, queue, what, n)
  local its = step.job_counts[queue]
  if not its then
    its = {}
    step.job_counts[queue] = its
  end
  its[what] = (its[what] or 0) + n
end

-- Six totals from a text, and the place behind them; nothing when they are none, or more than there can be.
function totals.read_totals(value, from)
  local a, b, c, d, e, f, behind = match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)()', from)
  if a and math.max(a, b, c, d, e, f) <= longest then return {a + 0, b + 0, c + 0, d + 0, e + 0, f + 0}, behind end
end
function totals.write_totals(t) return format('%d %d %d %d %d %d', unpack(t)) end
-- The minute of the last change, and the totals since ever.
function totals.read_last(value)
  local minute, at = match(value, '^(%d+) ()')
  minute = tonumber(minute)
  if minute and minute < longest / 60000000 then return minute, totals.read_totals(value, at) end
end

-- Minutes that end, while they are written: `changing` are the lists, by their names ("KIND:SLOT"), and `before` what
-- `totals_before` is to say.
totals.none = {0, 0, 0, 0, 0, 0}  -- never written to
local largest_rows = 8192  -- sixty rows of a busy queue are a third of it
function totals.growth(t, before)
  local grown = {}
  for i = 1, 6 do grown[i] = math.max(0, t[i] - before[i]) end
  return grown
end
-- Answers a list that has the rows of this queue in it.
local function list_with(step, m, kind, slot, name)
  local its = kind .. ':' .. int_text(slot)
  local found = m.changing[its] or {key = step.prefix .. ':' .. its, rows = {}, grown = 0}
  m.changing[its] = found
  if not found.rows[name] then
    local rows = call('HGET', found.key, name)
    found.rows[name] = rows or ''
    if not rows then found.grown = found.grown + #name + 100 end  -- what a store needs for a field
  end
  return found
end
local function add_row(step, m, kind, slot, name, place, grown)
  local into = list_with(step, m, kind, slot, name)
  local rows = into.rows[name]
  if #rows > largest_rows then return end
  local head = ',' .. int_text(place) .. ' '
  local from = string.find(rows, head, 1, true)
  local its, behind = totals.read_totals(rows, (from or #rows) + #head)
  local sum = {}
  for i = 1, 6 do sum[i] = grown[i] + (its and its[i] or 0) end
  local row = head .. totals.write_totals(sum)
  into.rows[name] = its and sub(rows, 1, from - 1) .. row .. sub(rows, behind) or rows .. row
  into.grown = into.grown + #into.rows[name] - #rows
end
-- Adds what the minute of one queue has brought.
local function end_minute(step, m, o, now_minute)
  local value, hour = call('HGET', step.keys.totals_before, o.name), math.floor(o.minute / 60)
  -- Nothing is known of when it began; of what cannot be read nothing is said to have been brought.
  local otherwise = value and o.totals or totals.none
  local of_minute, at = totals.read_totals(value or '', 1)
  local of_hour = at and totals.read_totals(value, at + 1) or otherwise
  local grown = totals.growth(o.totals, of_minute or otherwise)
  add_row(step, m, 'minutes', hour, o.name, o.minute % 60, grown)
  add_row(step, m, 'minutes', hour, '', o.minute % 60, grown)
  if hour ~= math.floor(now_minute / 60) then
    grown, of_hour = totals.growth(o.totals, of_hour), o.totals
    add_row(step, m, 'hours', math.floor(hour / 24), o.name, hour % 24, grown)
    add_row(step, m, 'hours', math.floor(hour / 24), '', hour % 24, grown)
  end
  m.before[#m.before + 1], m.before[#m.before + 2] = o.name, totals.write_totals(o.totals) .. ' ' ..
    totals.write_totals(of_hour)
end
-- Answers the size of each list by its name, with what it grows by now.
local function sizes_of_lists(step, m)
  local sizes, known = {}, call('HGETALL', step.keys.total_sizes)
  for i = 1, #known, 2 do sizes[known[i]] = math.max(0, math.min(tonumber(known[i + 1]) or 0, longest)) end
  for its, changed in pairs(m.changing) do sizes[its] = (sizes[its] or 0) + changed.grown end
  return sizes
end
-- All lists, those that end first at first; which are too old, or said to be larger than all may be. And the size of
-- all others together.
local function lists_in_order(step, sizes, now_minute)
  local all, sum = {}, 0
  for its, size in pairs(sizes) do
    local kind, slot = match(its, '^(%l+):(%d+)$')
    local ends = ((tonumber(slot) or 0) + 1) * (kind == 'hours' and 24 or 1)
    local kept = kind == 'hours' and constants.days_of_hours * 24 or constants.hours_of_minutes
    local goes = ends <= now_minute / 60 - kept or size > constants.max_total_bytes
    all[#all + 1] = {its = its, size = size, ends = ends, goes = goes,
                     key = (kind == 'minutes' or kind == 'hours') and step.prefix .. ':' .. its}
    sum = sum + (goes and 0 or size)
  end
  table.sort(all, function(a, b) return a.ends < b.ends or a.ends == b.ends and lists.by_bytes(a.its, b.its) end)
  return all, sum
end
local function write_lists(step, m, all, sum)
  for _, a in ipairs(all) do
    local changed = m.changing[a.its]
    if a.goes or sum > constants.max_total_bytes then
      if not a.goes then sum = sum - a.size end
      if a.key then call('UNLINK', a.key) end
      call('HDEL', step.keys.total_sizes, a.its)
    elseif changed then
      local fields = {}
      for name, rows in pairs(changed.rows) do fields[#fields + 1], fields[#fields + 2] = name, rows end
      call('HSET', step.keys.total_sizes, a.its, int_text(a.size))
      many('HSET', a.key, fields)
    end
  end
end
-- Adds what a minute has brought, which is over for these queues, to the list of its hour, and with an hour to the list
-- of its day: of the queue, and under the empty name of all together. Removes lists that are too old, and the oldest
-- while all are too large. `over`: name, minute and totals of each, of none for the removals alone. Looks at all before
-- it writes.
function totals.end_minutes(step, over, now_minute)
  local m = {changing = {}, before = {}}
  for _, o in ipairs(over) do end_minute(step, m, o, now_minute) end
  local all, sum = lists_in_order(step, sizes_of_lists(step, m), now_minute)
  -- first: a Redis that is out of memory refuses it, and a removal it would not
  many('HSET', step.keys.totals_before, m.before)
  write_lists(step, m, all, sum)
end
-- What a row becomes when only jobs come, in the minute that it speaks of: all behind their number stays as it stands.
-- Nothing when it speaks of another minute, or cannot be read.
function totals.with_more_enqueued(step, value, n)
  local minute, before, others = match(value, '^(%d+) (%d+)( %d+ %d+ %d+ %d+ %d+)$')
  if minute and minute + 0 == math.floor(step.now / 60000000) and before + 0 <= longest then
    return minute .. ' ' .. int_text(before + n) .. others
  end
end

-- Writes what was counted, by queue, which is `job_counts` or of that form: after all that a call looks at, and
-- before whatever else it writes.
function totals.keep_totals(step, counted)
  local now_minute, over, anew, changed = math.floor(step.now / 60000000), nil, {}, {}
  for queue, its in pairs(counted) do
    local a, b, c, d, e, f = its.enqueued, its.succeeded, its.failed, its.deleted, its.retry, its.lost
    if a or b or c or d or e or f then  -- other ends are not counted
      local value = call('HGET', step.keys.totals, queue)
      local minute, t = totals.read_last(value or '')
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
  if over then totals.end_minutes(step, over, now_minute) end
  many('HSET', step.keys.totals_before, anew)
  many('HSET', step.keys.totals, changed)
  for queue in pairs(counted) do counted[queue] = nil end  -- a step may count again
end
