-- Removes final jobs beyond their retention, oldest first, servers silent for too long, locks whose lease has been
-- over for a day, totals that are too old, and names of queues that nobody has used for a week.
-- ARGV[3]: at most so many of each state. ARGV[4]: servers whose last beat is older than so many microseconds go
-- (empty: none). ARGV[5]: how many bytes are kept of each state.
-- Then for failed, succeeded and deleted: the age in microseconds and the number that are kept, each empty for any.
-- Answer: how many were removed; 1 when there is more to do; how many jobs are in quarantine, and their bytes.
local int_text = base.int_text
local many = lists.many

local max_looked = 20000   -- in all queues together
local max_measured = 1000  -- in one step
local bytes_a_job = 200    -- of rows and lines, besides what it holds
local function weight_of(step, kind, id)
  if kind == 'quarantined' then return bytes_a_job + call('HSTRLEN', step.keys.quarantine, id) end
  return bytes_a_job + call('HSTRLEN', step.keys.jobs, id) + call('HSTRLEN', step.keys.history, id)
end

-- Locks are forgotten here when nobody took or released them; not at once, so that a clock that was set ahead takes
-- none from a holder who renews it yet.
local lock_kept = 86400000000

-- Names of queues: of those without a final job some are looked at each minute. The totals of a queue say when it was
-- used last; who has none begins to wait now. What it has brought stays among the totals of all, under no name.
local max_names, max_unused, unused_for = 500, 100, 7 * 24 * 60  -- the last in minutes
local function is_unused(step, queue)
  if call('SISMEMBER', step.keys.paused, queue) == 1 then return false end
  if (tonumber(call('ZSCORE', step.keys.served, queue) or '0') or 0) >= step.now then return false end
  local _, its_keys = places.lines_of(step, queue)
  for _, key in ipairs(its_keys) do
    if call('ZCARD', key) > 0 then return false end
  end
  return true
end

local function look_before_writing(step)
  for _, key in ipairs({step.keys.jobs, step.keys.history, step.keys.locks, step.keys.servers, step.keys.claims,
                        step.keys.total_sizes, step.keys.totals, step.keys.totals_before, step.keys.kept_bytes,
                        step.keys.quarantine, step.keys.schedules}) do
    call('HLEN', key)
  end
  for _, key in ipairs({step.keys.lock_ends, step.keys.due, step.keys.ending, step.keys.served}) do
    base.sorted(step, key)
  end
  if step.has_flow then call('HLEN', step.keys.flow) end
end
-- A prune while it is made: what it was asked, what it found, and what it answers.
local function begin_prune(step)
  local args = step.args
  local p = {limit = tonumber(args[3]), max_bytes = tonumber(args[5]), removed = 0, more = 0,
             queues = call('SMEMBERS', step.keys.queues),
             measured = {},       -- by field of `kept_bytes`, as it stands there
             left_to_measure = max_measured,
             lines_by_kind = {},  -- of each kind its size and bytes, and a line for each of the queues
             now_minute = math.floor(step.now / 60000000), unused = {}, begun = {}}
  local rows = call('HGETALL', step.keys.kept_bytes)
  for i = 1, #rows, 2 do p.measured[rows[i]] = rows[i + 1] end
  return p
end

-- Those of a line that were not measured yet, as many as may be in this step.
local function those_behind(p, m)
  local from = m.up_to and '(' .. int_text(m.up_to) or '-inf'
  return call('ZRANGE', m.key, from, '+inf', 'BYSCORE', 'LIMIT', 0, p.left_to_measure, 'WITHSCORES')
end
-- What the jobs of each line weigh. No step goes through all of them: each is measured once, in the order in which
-- they came. Those that have left otherwise than by this call are taken to have had the weight of the others; when
-- more than an eighth have, all are measured anew.
local function measure(step, p, kind, queue)
  local m = {kind = kind, key = places.line(step, kind, queue), field = kind .. ':' .. queue, count = 0, bytes = 0}
  m.size = call('ZCARD', m.key)
  if m.size == 0 then return m end
  local up_to, count, bytes = match(p.measured[m.field] or '', '^(%d+) (%d+) (%d+)$')
  if up_to and math.max(up_to, count, bytes) <= base.longest then
    m.up_to, m.count, m.bytes = tonumber(up_to), tonumber(count), tonumber(bytes)
  end
  local new = those_behind(p, m)
  if #new < 2 * p.left_to_measure then
    local left = m.size - #new / 2
    if left < m.count * 7 / 8 or (left > 0 and m.count == 0) then
      m.up_to, m.count, m.bytes = nil, 0, 0
      new = those_behind(p, m)
    elseif left ~= m.count then
      m.count, m.bytes = left, math.floor(m.bytes * left / m.count)
    end
  end
  for i = 1, #new, 2 do m.bytes = m.bytes + weight_of(step, kind, new[i]) end
  if #new > 0 then m.up_to = math.max(0, math.min(math.floor(tonumber(new[#new])), base.longest)) end
  m.count, p.left_to_measure = m.count + #new / 2, p.left_to_measure - #new / 2
  if p.left_to_measure == 0 and m.count < m.size then p.more = 1 end
  return m
end
local function measure_all(step, p)
  for _, kind in ipairs({'failed', 'succeeded', 'deleted', 'quarantined'}) do
    local its = {size = 0, bytes = 0}
    p.lines_by_kind[kind] = its
    for i, queue in ipairs(p.queues) do
      its[i] = measure(step, p, kind, queue)
      its.size, its.bytes = its.size + its[i].size, its.bytes + its[i].bytes
    end
  end
end

-- What goes of the k-th final kind: `excess` are too many, `excess_bytes` too large, `weights` by id.
local function begin_removal(step, p, k, kind)
  local age, keep = tonumber(step.args[4 + 2 * k]), tonumber(step.args[5 + 2 * k])
  local its = p.lines_by_kind[kind]
  return {kind = kind, lines = its, age = age, excess = keep and math.max(0, its.size - keep) or 0,
          excess_bytes = its.bytes - p.max_bytes, oldest_kept = age and step.now - age or -math.huge,
          weights = {}, gone = {}}
end
local function weight_in(step, r, o)
  r.weights[o.id] = r.weights[o.id] or weight_of(step, r.kind, o.id)
  return r.weights[o.id]
end
-- The oldest, up to so many of each queue, and the instant up to which none is missing among them.
local function oldest_of(r, slice)
  local old, whole_until = {}, math.huge
  for _, m in ipairs(r.lines) do
    local rows = {}
    if r.excess > 0 or r.excess_bytes > 0 then
      rows = call('ZRANGE', m.key, 0, slice - 1, 'WITHSCORES')
    elseif m.size > 0 then
      rows = call('ZRANGE', m.key, '-inf', '(' .. int_text(r.oldest_kept), 'BYSCORE', 'LIMIT', 0, slice,
                  'WITHSCORES')
    end
    if #rows == 2 * slice then whole_until = math.min(whole_until, tonumber(rows[#rows])) end
    for i = 1, #rows, 2 do old[#old + 1] = {id = rows[i], at = tonumber(rows[i + 1]), line = m} end
  end
  table.sort(old, function(a, b) return a.at < b.at end)
  return old, whole_until
end
-- Chooses from the oldest who goes. It answers whether more may be found by reading further: one who was met stays,
-- since a child may still ask for its result; or the next may be younger than some that were not read.
local function choose(step, p, r, old, whole_until, can_grow)
  local has_more = false
  local bytes = 0  -- of those met: who must stay is no reason to remove another in its place
  r.gone = {}
  if step.has_flow then
    local names = {}
    for i, o in ipairs(old) do names[i] = o.id end
    flow.read_flows(step, names)
  end
  for i, o in ipairs(old) do
    local is_over = i <= r.excess or bytes < r.excess_bytes
    if #r.gone == p.limit or (o.at >= r.oldest_kept and not is_over) then break end
    if o.at > whole_until then
      has_more = true
      if can_grow or o.at >= r.oldest_kept then break end
    end
    if r.excess_bytes > 0 then bytes = bytes + weight_in(step, r, o) end
    if step.has_flow and not continuations.may_be_forgotten(step, o.id) then
      has_more = true
    else
      r.gone[#r.gone + 1] = o
    end
  end
  return has_more
end
local function find_gone(step, p, r)
  local slice = p.limit
  repeat
    local old, whole_until = oldest_of(r, slice)
    local can_grow = whole_until < math.huge and 4 * slice * #p.queues <= max_looked
    local has_more = choose(step, p, r, old, whole_until, can_grow)
    slice = slice * 4
  until not (has_more and can_grow and #r.gone < p.limit)
end
local function remove_gone(step, p, r)
  local ids, leaving = {}, {}
  for i, o in ipairs(r.gone) do
    local m = o.line
    ids[i] = o.id
    lists.add_one(leaving, m.key, o.id)
    if m.up_to and o.at <= m.up_to then
      m.count, m.bytes = math.max(0, m.count - 1), math.max(0, m.bytes - weight_in(step, r, o))
    end
    m.size = m.size - 1
  end
  if step.has_flow then continuations.forget_flow(step, ids) end
  lists.each_list(leaving, 'ZREM')
  many('HDEL', step.keys.jobs, ids)
  many('HDEL', step.keys.history, ids)
  p.removed = p.removed + #ids
  if #ids == p.limit then p.more = 1 end
end

-- What was measured stands in `kept_bytes`; a line that has no jobs now, or was not measured yet, has no row there.
local function write_measured(step, p)
  local changed = {}
  for _, its in pairs(p.lines_by_kind) do
    for _, m in ipairs(its) do
      local row = m.size > 0 and m.up_to and int_text(m.up_to) .. ' ' .. int_text(m.count) .. ' ' .. int_text(m.bytes)
      if row and row ~= p.measured[m.field] then changed[#changed + 1], changed[#changed + 2] = m.field, row end
      if row then p.measured[m.field] = nil end
    end
  end
  many('HSET', step.keys.kept_bytes, changed)
  local over_now = {}
  for field in pairs(p.measured) do over_now[#over_now + 1] = field end
  many('HDEL', step.keys.kept_bytes, over_now)
end

local function forget_locks(step, p)
  local over = call('ZRANGE', step.keys.lock_ends, '-inf', int_text(step.now - lock_kept), 'BYSCORE', 'LIMIT', 0,
                    p.limit)
  many('HDEL', step.keys.locks, over)
  many('ZREM', step.keys.lock_ends, over)
  if #over == p.limit then p.more = 1 end
end

-- Queues that have no final job any more, and none in quarantine.
local function idle_queues(p)
  local idle = {}
  for i, queue in ipairs(p.queues) do
    local jobs_kept = 0
    for _, its in pairs(p.lines_by_kind) do jobs_kept = jobs_kept + its[i].size end
    if jobs_kept == 0 then idle[#idle + 1] = queue end
  end
  return idle
end
-- Finds the names that go, and those that begin to wait.
local function look_at_names(step, p)
  local idle, first_name = idle_queues(p), p.now_minute * max_names
  for i = 1, math.min(#idle, max_names) do
    local queue = idle[(first_name + i) % #idle + 1]
    local minute, t = totals.read_last(call('HGET', step.keys.totals, queue) or '')
    if not t then
      p.begun[#p.begun + 1], p.begun[#p.begun + 2] = queue, int_text(p.now_minute) .. ' 0 0 0 0 0 0'
    elseif minute <= p.now_minute - unused_for and #p.unused < max_unused and is_unused(step, queue) then
      p.unused[#p.unused + 1] = {name = queue, minute = minute, totals = t}
    end
  end
  -- A schedule may name it; read as bytes, which may keep a name that is only a part of another, or of a word that
  -- schedules are stored by.
  if #p.unused > 0 and call('HLEN', step.keys.schedules) > 0 then
    local stored, others = table.concat(call('HVALS', step.keys.schedules), ' '), {}
    for _, u in ipairs(p.unused) do
      if not string.find(stored, u.name, 1, true) then others[#others + 1] = u end
    end
    p.unused = others
  end
end
local function forget_names(step, p)
  totals.end_minutes(step, p.unused, p.now_minute)
  many('HSET', step.keys.totals, p.begun)
  if #p.unused == 0 then return end
  local names, _, sum = {}, totals.read_last(call('HGET', step.keys.totals, '') or '')
  sum = sum or {0, 0, 0, 0, 0, 0}
  for i, u in ipairs(p.unused) do
    names[i] = u.name
    for k = 1, 6 do sum[k] = sum[k] + u.totals[k] end
    call('DEL', places.types_of(step, u.name))
  end
  call('HSET', step.keys.totals, '', '0 ' .. totals.write_totals(sum))
  for _, key in ipairs({step.keys.totals, step.keys.totals_before}) do many('HDEL', key, names) end
  for _, key in ipairs({step.keys.due, step.keys.ending, step.keys.served}) do many('ZREM', key, names) end
  many('SREM', step.keys.queues, names)
  if #p.unused == max_unused then p.more = 1 end
end

local function forget_silent_servers(step)
  local silent = tonumber(step.args[4])
  if not silent then return end
  local gone = {}
  local rows = call('HGETALL', step.keys.servers)
  for i = 1, #rows, 2 do
    local beat = tonumber(match(rows[i + 1], '^(%d+) ') or '0')
    if beat < step.now - silent then
      gone[rows[i]] = true
      call('HDEL', step.keys.servers, rows[i])
    end
  end
  if next(gone) then gone_servers.forget_claims(step, gone) end
end

function calls.prune(step)
  look_before_writing(step)
  local p = begin_prune(step)
  measure_all(step, p)
  for k, kind in ipairs(places.final_kinds) do
    local r = begin_removal(step, p, k, kind)
    if r.age or r.excess > 0 or r.excess_bytes > 0 then
      find_gone(step, p, r)
      remove_gone(step, p, r)
    end
  end
  write_measured(step, p)
  forget_locks(step, p)
  look_at_names(step, p)
  forget_names(step, p)
  forget_silent_servers(step)
  local aside = p.lines_by_kind.quarantined
  return {p.removed, p.more, int_text(aside.size), int_text(aside.bytes)}
end
