-- Writes, or finds nothing to do.
-- Removes final jobs beyond their retention, oldest first, servers silent for too long, locks whose lease has been
-- over for a day, totals that are too old, and names of queues that nobody has used for a week.
-- ARGV[3]: at most so many of each state. ARGV[4]: servers whose last beat is older than so many microseconds go
-- (empty: none). ARGV[5]: how many bytes are kept of each state.
-- Then for failed, succeeded and deleted: the age in microseconds and the number that are kept, each empty for any.
-- Answer: how many were removed; 1 when there is more to do; how many jobs are in quarantine, and their bytes.
local max_looked = 20000  -- in all queues together
for _, key in ipairs({jobs, history, locks, servers, claims, total_sizes, totals, totals_before, kept_bytes, quarantine,
                      schedules}) do
  call('HLEN', key)
end
for _, key in ipairs({lock_ends, due, ending, served}) do sorted(key) end
if has_flow then call('HLEN', flow) end
begin_freeing()
local limit, max_bytes, removed, more = tonumber(ARGV[3]), tonumber(ARGV[5]), 0, 0
local all = call('SMEMBERS', queues)

-- What the jobs of each line weigh. No step goes through all of them: each is measured once, in the order in which they
-- came. Those that have left otherwise than by this script are taken to have had the weight of the others; when more
-- than an eighth have, all are measured anew.
local max_measured = 1000  -- in one step
local bytes_a_job = 200    -- of rows and lines, besides what it holds
local measured, rows = {}, call('HGETALL', kept_bytes)
for i = 1, #rows, 2 do measured[rows[i]] = rows[i + 1] end
local function weight_of(kind, id)
  if kind == 'quarantined' then return bytes_a_job + call('HSTRLEN', quarantine, id) end
  return bytes_a_job + call('HSTRLEN', jobs, id) + call('HSTRLEN', history, id)
end
local function measure(kind, queue)
  local m = {kind = kind, key = line(kind, queue), field = kind .. ':' .. queue, count = 0, bytes = 0}
  m.size = call('ZCARD', m.key)
  if m.size == 0 then return m end
  local up_to, count, bytes = match(measured[m.field] or '', '^(%d+) (%d+) (%d+)$')
  if up_to and math.max(up_to, count, bytes) <= longest then
    m.up_to, m.count, m.bytes = tonumber(up_to), tonumber(count), tonumber(bytes)
  end
  local function those_behind()
    local from = m.up_to and '(' .. int_text(m.up_to) or '-inf'
    return call('ZRANGE', m.key, from, '+inf', 'BYSCORE', 'LIMIT', 0, max_measured, 'WITHSCORES')
  end
  local new = those_behind()
  if #new < 2 * max_measured then
    local left = m.size - #new / 2
    if left < m.count * 7 / 8 or (left > 0 and m.count == 0) then
      m.up_to, m.count, m.bytes = nil, 0, 0
      new = those_behind()
    elseif left ~= m.count then
      m.count, m.bytes = left, math.floor(m.bytes * left / m.count)
    end
  end
  for i = 1, #new, 2 do m.bytes = m.bytes + weight_of(kind, new[i]) end
  if #new > 0 then m.up_to = math.max(0, math.min(math.floor(tonumber(new[#new])), longest)) end
  m.count, max_measured = m.count + #new / 2, max_measured - #new / 2
  if max_measured == 0 and m.count < m.size then more = 1 end
  return m
end
local lines_by_kind = {}
for _, kind in ipairs({'failed', 'succeeded', 'deleted', 'quarantined'}) do
  local its = {size = 0, bytes = 0}
  lines_by_kind[kind] = its
  for i, queue in ipairs(all) do
    its[i] = measure(kind, queue)
    its.size, its.bytes = its.size + its[i].size, its.bytes + its[i].bytes
  end
end

for k, kind in ipairs(final_kinds) do
  local age, keep, its = tonumber(ARGV[4 + 2 * k]), tonumber(ARGV[5 + 2 * k]), lines_by_kind[kind]
  local excess, excess_bytes = keep and math.max(0, its.size - keep) or 0, its.bytes - max_bytes
  if age or excess > 0 or excess_bytes > 0 then
    local oldest_kept = age and now - age or -math.huge
    -- The oldest, up to so many of each queue, and the instant up to which none is missing among them.
    local function oldest(slice)
      local old, whole_until = {}, math.huge
      for _, m in ipairs(its) do
        local rows = {}
        if excess > 0 or excess_bytes > 0 then
          rows = call('ZRANGE', m.key, 0, slice - 1, 'WITHSCORES')
        elseif m.size > 0 then
          rows = call('ZRANGE', m.key, '-inf', '(' .. int_text(oldest_kept), 'BYSCORE', 'LIMIT', 0, slice, 'WITHSCORES')
        end
        if #rows == 2 * slice then whole_until = math.min(whole_until, tonumber(rows[#rows])) end
        for i = 1, #rows, 2 do old[#old + 1] = {id = rows[i], at = tonumber(rows[i + 1]), line = m} end
      end
      table.sort(old, function(a, b) return a.at < b.at end)
      return old, whole_until
    end
    local weights = {}
    local function weight(o)
      weights[o.id] = weights[o.id] or weight_of(kind, o.id)
      return weights[o.id]
    end
    local gone, slice = {}, limit
    repeat
      local old, whole_until = oldest(slice)
      -- More may be found by reading further: one who was met stays, since a child may still ask for its result; or the
      -- next may be younger than some that were not read.
      local has_more, can_grow = false, whole_until < math.huge and 4 * slice * #all <= max_looked
      local bytes = 0  -- of those met: who must stay is no reason to remove another in its place
      gone = {}
      if has_flow then
        local names = {}
        for i, o in ipairs(old) do names[i] = o.id end
        on_demand().read_flows(names)
      end
      for i, o in ipairs(old) do
        local is_over = i <= excess or bytes < excess_bytes
        if #gone == limit or (o.at >= oldest_kept and not is_over) then break end
        if o.at > whole_until then
          has_more = true
          if can_grow or o.at >= oldest_kept then break end
        end
        if excess_bytes > 0 then bytes = bytes + weight(o) end
        if has_flow and not on_demand().may_be_forgotten(o.id) then
          has_more = true
        else
          gone[#gone + 1] = o
        end
      end
      slice = slice * 4
    until not (has_more and can_grow and #gone < limit)
    local ids, leaving = {}, grouped()
    for i, o in ipairs(gone) do
      local m = o.line
      ids[i] = o.id
      add_one(leaving, m.key, o.id)
      if m.up_to and o.at <= m.up_to then
        m.count, m.bytes = math.max(0, m.count - 1), math.max(0, m.bytes - weight(o))
      end
      m.size = m.size - 1
    end
    if has_flow then on_demand().forget_flow(ids) end
    each_list(leaving, 'ZREM')
    many('HDEL', jobs, ids)
    many('HDEL', history, ids)
    removed = removed + #ids
    if #ids == limit then more = 1 end
  end
end

local changed = {}
for _, its in pairs(lines_by_kind) do
  for _, m in ipairs(its) do
    local row = m.size > 0 and m.up_to and int_text(m.up_to) .. ' ' .. int_text(m.count) .. ' ' .. int_text(m.bytes)
    if row and row ~= measured[m.field] then changed[#changed + 1], changed[#changed + 2] = m.field, row end
    if row then measured[m.field] = nil end
  end
end
many('HSET', kept_bytes, changed)
local over_now = {}
for field in pairs(measured) do over_now[#over_now + 1] = field end
many('HDEL', kept_bytes, over_now)

-- Locks are forgotten here when nobody took or released them; not at once, so that a clock that was set ahead takes
-- none from a holder who renews it yet.
local lock_kept = 86400000000
local over = call('ZRANGE', lock_ends, '-inf', int_text(now - lock_kept), 'BYSCORE', 'LIMIT', 0, limit)
many('HDEL', locks, over)
many('ZREM', lock_ends, over)
if #over == limit then more = 1 end

-- Names of queues: of those without a final job some are looked at each minute. The totals of a queue say when it was
-- used last; who has none begins to wait now. What it has brought stays among the totals of all, under no name.
local max_names, max_unused, unused_for = 500, 100, 7 * 24 * 60  -- the last in minutes
local now_minute = math.floor(now / 60000000)
local function is_unused(queue)
  if call('SISMEMBER', paused, queue) == 1 then return false end
  if (tonumber(call('ZSCORE', served, queue) or '0') or 0) >= now then return false end
  local _, keys = lines_of(queue)
  for _, key in ipairs(keys) do
    if call('ZCARD', key) > 0 then return false end
  end
  return true
end
local idle, unused, begun = {}, {}, {}
for i, queue in ipairs(all) do
  local jobs_kept = 0
  for _, its in pairs(lines_by_kind) do jobs_kept = jobs_kept + its[i].size end
  if jobs_kept == 0 then idle[#idle + 1] = queue end
end
local first_name = now_minute * max_names
for i = 1, math.min(#idle, max_names) do
  local queue = idle[(first_name + i) % #idle + 1]
  local minute, t = read_last(call('HGET', totals, queue) or '')
  if not t then begun[#begun + 1], begun[#begun + 2] = queue, int_text(now_minute) .. ' 0 0 0 0 0 0'
  elseif minute <= now_minute - unused_for and #unused < max_unused and is_unused(queue) then
    unused[#unused + 1] = {name = queue, minute = minute, totals = t}
  end
end
-- A schedule may name it; read as bytes, which may keep a name that is only a part of another.
if #unused > 0 and call('HLEN', schedules) > 0 then
  local named, others = table.concat(call('HVALS', schedules), ' '), {}
  for _, u in ipairs(unused) do
    if not string.find(named, u.name, 1, true) then others[#others + 1] = u end
  end
  unused = others
end
end_minutes(unused, now_minute)
many('HSET', totals, begun)
if #unused > 0 then
  local names, _, sum = {}, read_last(call('HGET', totals, '') or '')
  sum = sum or {0, 0, 0, 0, 0, 0}
  for i, u in ipairs(unused) do
    names[i] = u.name
    for k = 1, 6 do sum[k] = sum[k] + u.totals[k] end
    call('DEL', types_of(u.name))
  end
  call('HSET', totals, '', '0 ' .. write_totals(sum))
  for _, key in ipairs({totals, totals_before}) do many('HDEL', key, names) end
  for _, key in ipairs({due, ending, served}) do many('ZREM', key, names) end
  many('SREM', queues, names)
  if #unused == max_unused then more = 1 end
end

local silent = tonumber(ARGV[4])
if silent then
  local gone = {}
  local rows = call('HGETALL', servers)
  for i = 1, #rows, 2 do
    local beat = tonumber(match(rows[i + 1], '^(%d+) ') or '0')
    if beat < now - silent then
      gone[rows[i]] = true
      call('HDEL', servers, rows[i])
    end
  end
  if next(gone) then
    forget_claims(gone)
  end
end
local aside = lines_by_kind.quarantined
return {removed, more, int_text(aside.size), int_text(aside.bytes)}
