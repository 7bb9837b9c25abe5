-- How many jobs came and ended: since ever, and by minute or hour; of one queue, or of all together.
local names = {'enqueued', 'succeeded', 'failed', 'deleted', 'retried', 'lost'}
-- Of each step the lists, how long a row and a list of it last, and how many lists are kept.
local shapes = {
  minute = {lists = 'minutes', row = 60000000, list = 3600000000, kept = constants.hours_of_minutes},
  hour = {lists = 'hours', row = 3600000000, list = 86400000000, kept = constants.days_of_hours},
}

local function add(sum, more)
  for i = 1, 6 do sum[i] = sum[i] + more[i] end
end
local function with_names(t)
  local its = {}
  for i, name in ipairs(names) do its[name] = t[i] end
  return its
end

function by_name.totals(step, asked)
  local shape, name = shapes[asked.step], asked.queue or ''
  local ever, rows = {0, 0, 0, 0, 0, 0}, {}
  -- Of several queues, or of a minute that is in a list and goes on.
  local function add_row(begins, t)
    if asked.from and begins < asked.from or asked.to and begins >= asked.to or math.max(unpack(t)) == 0 then return end
    rows[begins] = rows[begins] or {0, 0, 0, 0, 0, 0}
    add(rows[begins], t)
  end

  local newest = math.floor(step.now / shape.list)
  local function add_queue(queue, value)
    local minute, t = totals.read_last(value or '')
    if not t then return end
    add(ever, t)
    local last = minute * 60000000
    if math.floor(last / shape.list) < newest - shape.kept then return end
    -- What its last minute and hour have had so far stands in no list yet.
    local before = call('HGET', step.keys.totals_before, queue)
    local began, at = totals.read_totals(before or '', 1)
    if asked.step == 'hour' then began = at and totals.read_totals(before, at + 1) end
    add_row(math.floor(last / shape.row) * shape.row, totals.growth(t, began or before and t or totals.none))
  end
  if name ~= '' then
    add_queue(name, call('HGET', step.keys.totals, name))
  else
    local all = call('HGETALL', step.keys.totals)
    for i = 1, #all, 2 do add_queue(all[i], all[i + 1]) end
  end

  local first = math.max(newest - shape.kept, math.floor((asked.from or 0) / shape.list))
  local last = math.min(newest + 1, asked.to and math.floor(asked.to / shape.list) or newest + 1)
  for slot = first, last do
    local value, at = call('HGET', keys.total_list(step, shape.lists, slot), name), 1
    while value and at do
      local place, from = match(value, '^,(%d+) ()', at)
      local t = nil
      if place then t, at = totals.read_totals(value, from) else at = nil end
      if t and place + 0 < shape.list / shape.row then add_row(slot * shape.list + place * shape.row, t) end
    end
  end

  local told = {}
  for begins, t in pairs(rows) do told[#told + 1] = {begins = begins, in_it = with_names(t)} end
  table.sort(told, function(a, b) return a.begins < b.begins end)
  return {report = {ever = with_names(ever), rows = told}}
end
