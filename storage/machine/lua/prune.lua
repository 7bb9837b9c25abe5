-- Writes, or finds nothing to do.
-- Removes final jobs beyond their retention, oldest first, servers silent for too long, locks whose lease has been
-- over for a day, and totals that are too old.
-- ARGV[3]: at most so many of each state. ARGV[4]: servers whose last beat is older than so many microseconds go
-- (empty: none).
-- Then for failed, succeeded and deleted: the age in microseconds and the number that are kept, each empty for any.
-- Answer: how many were removed, and 1 when there is more to do.
local max_looked = 20000  -- in all queues together
for _, key in ipairs({jobs, history, locks, servers, claims, total_sizes}) do call('HLEN', key) end
sorted(lock_ends)
if has_flow then call('HLEN', flow) end
begin_freeing()
local limit, removed, more = tonumber(ARGV[3]), 0, 0
local all = call('SMEMBERS', queues)
for k, kind in ipairs(final_kinds) do
  local age, keep = tonumber(ARGV[3 + 2 * k]), tonumber(ARGV[4 + 2 * k])
  if age or keep then
    local total = 0
    for _, queue in ipairs(all) do total = total + call('ZCARD', line(kind, queue)) end
    local excess = keep and math.max(0, total - keep) or 0
    local oldest_kept = age and now - age or -math.huge
    -- The oldest, up to so many of each queue, and the instant up to which none is missing among them.
    local function oldest(slice)
      local old, whole_until = {}, math.huge
      for _, queue in ipairs(all) do
        local key = line(kind, queue)
        local rows = excess > 0 and call('ZRANGE', key, 0, slice - 1, 'WITHSCORES')
                     or call('ZRANGE', key, '-inf', '(' .. int_text(oldest_kept), 'BYSCORE', 'LIMIT', 0, slice, 'WITHSCORES')
        if #rows == 2 * slice then whole_until = math.min(whole_until, tonumber(rows[#rows])) end
        for i = 1, #rows, 2 do old[#old + 1] = {id = rows[i], at = tonumber(rows[i + 1]), key = key} end
      end
      table.sort(old, function(a, b) return a.at < b.at end)
      return old, whole_until
    end
    local ids, leaving, slice = {}, grouped(), limit
    repeat
      local old, whole_until = oldest(slice)
      local has_passed = false  -- one behind which a child may still ask for a result
      ids, leaving = {}, grouped()
      if has_flow then
        local names = {}
        for i, o in ipairs(old) do names[i] = o.id end
        on_demand().read_flows(names)
      end
      for i, o in ipairs(old) do
        if #ids == limit or (o.at >= oldest_kept and (i > excess or o.at > whole_until)) then break end
        if has_flow and not on_demand().may_be_forgotten(o.id) then
          has_passed = true
        else
          ids[#ids + 1] = o.id
          add_one(leaving, o.key, o.id)
        end
      end
      slice = slice * 4
    until not (has_passed and whole_until < math.huge and #ids < limit and slice * #all <= max_looked)
    if has_flow then on_demand().forget_flow(ids) end
    each_list(leaving, 'ZREM')
    many('HDEL', jobs, ids)
    many('HDEL', history, ids)
    removed = removed + #ids
    if #ids == limit then more = 1 end
  end
end

-- Locks are forgotten here when nobody took or released them; not at once, so that a clock that was set ahead takes
-- none from a holder who renews it yet.
local lock_kept = 86400000000
local over = call('ZRANGE', lock_ends, '-inf', int_text(now - lock_kept), 'BYSCORE', 'LIMIT', 0, limit)
many('HDEL', locks, over)
many('ZREM', lock_ends, over)
if #over == limit then more = 1 end

drop_old_totals()

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
return {removed, more}
