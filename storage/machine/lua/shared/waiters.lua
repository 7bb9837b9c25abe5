-- Jobs that wait for a permit or a slot: their lines, who is woken, and what comes free when runs end.

local passed_on = {}    -- resources whose permits this step has promised to woken jobs
local max_woken = 1000  -- by one permit that came free, or one higher limit; those that end, and a reconcile, go on

-- A queue runs when it is not paused and somebody serves it.
local known_to_run = {}
local function queue_runs(queue)
  if known_to_run[queue] == nil then
    local until_ = call('ZSCORE', served, queue)
    known_to_run[queue] = until_ and tonumber(until_) > now and call('SISMEMBER', paused, queue) == 0
  end
  return known_to_run[queue]
end

-- Somebody waits whose queue runs. Otherwise the line stands still: nobody there can be woken now.
local function has_runnable_waiter(resource)
  for _, queue in ipairs(call('SMEMBERS', waits(resource))) do
    if queue_runs(queue) then return true end
  end
  return false
end

local function enqueue_waiter(id, queue, resource, arrival)
  call('ZADD', line('throttled', queue), int_text(arrival), id)
  call('ZADD', wait_line(queue, resource), int_text(arrival), id)
  call('SADD', waits(resource), queue)
  call('ZADD', waiting, 0, resource)
end
-- After somebody of this queue left the line of a resource.
local function close_empty_line(resource, queue)
  if call('EXISTS', wait_line(queue, resource)) == 1 then return end
  call('SREM', waits(resource), queue)
  if call('EXISTS', waits(resource)) == 1 then return end
  call('ZREM', waiting, resource)
  call('ZREM', next_checks, resource)
end
local function remove_waiter(resource, id)
  for _, queue in ipairs(call('SMEMBERS', waits(resource))) do
    if call('ZREM', wait_line(queue, resource), id) == 1 then
      call('ZREM', line('throttled', queue), id)
      close_empty_line(resource, queue)
      return
    end
  end
end

-- The oldest of a line whose queues run. The cost grows with what is asked for and with queues, not with the line.
local function first_waiters(resource, count)
  local found, lines = {}, 0
  for _, queue in ipairs(call('SMEMBERS', waits(resource))) do
    if queue_runs(queue) then
      lines = lines + 1
      local rows = call('ZRANGE', wait_line(queue, resource), 0, count - 1, 'WITHSCORES')
      for i = 1, #rows, 2 do found[#found + 1] = {id = rows[i], arrival = tonumber(rows[i + 1]), queue = queue} end
    end
  end
  if lines > 1 then table.sort(found, function(a, b) return a.arrival < b.arrival end) end
  for i = #found, count + 1, -1 do found[i] = nil end
  return found
end

-- Moves them to their queues' front lines, a suspect to its tail; `give` changes the admission of each. Nobody is woken
-- while there are no places to give: what has ended has ended all the same, and a reconcile goes on.
local function wake_first(resource, count, give)
  local found, ids = can_draw and first_waiters(resource, count) or {}, {}
  if #found == 0 then return 0 end
  for i, w in ipairs(found) do ids[i] = w.id end
  local histories, had = many('HMGET', history, ids), admissions_of(ids)
  local leaving, entering, changed, from = grouped(), grouped(), {}, {}
  local place = draw(#found)
  for i, w in ipairs(found) do
    -- Who claims one whose past cannot be read will see that.
    local losses = tonumber(match(histories[i] or '', '^%d+ (%d+) ') or '0')
    local a = copy_of(had[w.id] or no_admission)
    a.at = ''
    give(a, w.id)
    changed[2 * i - 1], changed[2 * i] = w.id, write_admission(a)
    add_one(leaving, wait_line(w.queue, resource), w.id)
    add_one(leaving, line('throttled', w.queue), w.id)
    add_two(entering, sorted(line(is_suspect(losses) and 'suspect' or 'front', w.queue)), int_text(place + i - 1), w.id)
    from[w.queue] = true
    woken_in[w.queue] = (woken_in[w.queue] or 0) + 1
    woken_now[w.id] = true
  end
  each_list(leaving, 'ZREM')
  put(admission, changed)
  each_list(entering, 'ZADD')
  for queue in pairs(from) do close_empty_line(resource, queue) end
  woken = woken + #found
  return #found
end

-- Hands what is free of a resource to those who waited longest.
local function pass_on(resource)
  if not call('ZSCORE', waiting, resource) then return 0 end
  local limit = limit_of(resource)
  local room = limit and math.min(limit - held_of(resource), max_woken) or 0
  if room <= 0 then return 0 end
  local entries, since = {}, {}
  local got = wake_first(resource, room, function(a, id)
    a.held[#a.held + 1] = resource
    entries[#entries + 1], entries[#entries + 2] = id, 'reserved 0 ' .. now_text
    since[#since + 1], since[#since + 2] = now_text, reservation(resource, id)
  end)
  if got > 0 then
    passed_on[resource] = true
    add_entries(resource, entries)
    many('ZADD', reserved, since)
  end
  return got
end

-- Makes up for what a line that is waited for has missed: its permit goes to whoever fits, and a line of a limiter that
-- has stood still, or lost its next check, is looked at again.
local reopened = 0
local function reconcile_line(resource)
  if hands_out_permits(resource) then return pass_on(resource) end
  if has_runnable_waiter(resource) and not call('ZSCORE', next_checks, resource) then
    call('ZADD', next_checks, now_text, resource)
    reopened = reopened + 1
  end
  return 0
end

-- Ends what these jobs have. What is strict stays with a job that is not final, for no run; the rest goes back and
-- on, in the order of the jobs. `had`: their admissions, by id; `took`: what stood in the rows of their runs, by
-- place; both as they were before the first write.
local function give_back(ids, had, inline_permits, is_final)
  local order, entries, counts, gone, changed = {}, {}, {}, {}, {}
  local function freed(resource)
    if not entries[resource] then
      order[#order + 1] = resource
      entries[resource], counts[resource] = {}, 0
    end
  end
  -- Alike ones that follow one another are counted together, as most of a batch are.
  local last, n = nil, 0
  local function count_last()
    for _, resource in ipairs(last and permits_in(last) or {}) do
      freed(resource)
      counts[resource] = counts[resource] + n
    end
  end
  for i, id in ipairs(ids) do
    if inline_permits[i] == last then
      n = n + 1
    else
      count_last()
      last, n = inline_permits[i], 1
    end
    local a = had[id]
    if a then
      count_last()
      last, n = nil, 0
    end
    if a then
      local own = {}
      for _, resource in ipairs(a.held) do
        local kind, since
        if not is_final[id] then kind, since = entry_of(resource, id) end
        if kind == 'strict' then
          own[#own + 1] = resource
          add_entries(resource, {id, 'strict 0 ' .. since})
        else
          freed(resource)
          entries[resource][#entries[resource] + 1] = id
        end
      end
      if #own == 0 then
        gone[#gone + 1] = id
      else
        changed[#changed + 1], changed[#changed + 2] = id, admission_with(own)
      end
    end
  end
  count_last()
  local is_free = {}
  for _, name in ipairs(order) do
    if #entries[name] > 0 then remove_entries(name, entries[name]) end
    local is_over = counts[name] > 0 and count_claimed(name, -counts[name])
    is_free[name] = is_over or permit_of(name) == name
  end
  many('HDEL', admission, gone)
  put(admission, changed)
  for _, name in ipairs(order) do
    if is_free[name] then pass_on(permit_of(name)) end
  end
end

-- Ends runs of whom these stood in their rows, `ended` of each, and nothing else.
local function end_alike(alike)
  local order, counts = {}, {}
  for _, c in ipairs(alike) do
    for _, resource in ipairs(permits_in(c.permits)) do
      if not counts[resource] then order[#order + 1] = resource end
      counts[resource] = (counts[resource] or 0) + c.ended
    end
  end
  local is_free = {}
  for _, name in ipairs(order) do is_free[name] = count_claimed(name, -counts[name]) or permit_of(name) == name end
  for _, name in ipairs(order) do
    if is_free[name] then pass_on(permit_of(name)) end
  end
end

-- The rows of runs count what was taken, whatever was counted so far: one of them could not be read. Once is enough
-- for all of a step, since such rows count for nothing.
local is_counted_anew = false
local function count_anew()
  if is_counted_anew then return end
  is_counted_anew = true
  local counts = claims_by_rows()
  for _, name in ipairs(call('HKEYS', claim_permits)) do counts[name] = counts[name] or 0 end
  for name, n in pairs(counts) do set_claims(name, n) end
  for name in pairs(counts) do pass_on(name) end
end

-- A job leaves for good, whatever it does now: running, waiting or woken. `row` is that of its run, if it has one,
-- and is no more.
local function forget_job(id, row)
  local run = row and read_run(row)
  local a, inline_permits = admission_of(id), run and run.permits ~= '' and run.permits
  if row and not run then
    a = a or recovered_admission(id)
    count_anew()
  end
  if not a and not inline_permits then return end
  if a then
    if a.at ~= '' then remove_waiter(a.at, id) end
    for _, resource in ipairs(a.held) do call('ZREM', reserved, reservation(resource, id)) end
  end
  give_back({id}, {[id] = a}, {inline_permits}, {[id] = true})
end

-- How a newcomer finds a resource: its limit (nothing: not defined), how many hold it, and whether somebody waits
-- who would be overtaken.
local function room_of(resource)
  check_throttlers()
  call('SCARD', waits(resource))
  local limit = limit_of(resource)
  return {limit = limit, held = limit and held_of(resource),
          waited_for = limit and call('ZSCORE', waiting, resource) and #first_waiters(resource, 1) > 0}
end

-- Parks jobs of a queue that nothing is known of yet, for one resource each, in the order they come.
local function park_fresh(queue, parks)
  local written, standing, lines, first = {}, {}, grouped(), draw(#parks)
  for i, p in ipairs(parks) do
    local n = int_text(first + i - 1)
    written[2 * i - 1] = p.id
    written[2 * i] = write_admission({arrival = first + i - 1, failed_wakeups = 0, fence = '0', at = p.resource,
                                      held = {}, slots = {}})
    standing[2 * i - 1], standing[2 * i] = n, p.id
    add_two(lines, p.resource, n, p.id)
  end
  put(admission, written)
  many('ZADD', line('throttled', queue), standing)
  for _, resource in ipairs(lines.order) do
    many('ZADD', wait_line(queue, resource), lines.of[resource])
    call('SADD', waits(resource), queue)
    call('ZADD', waiting, 0, resource)
  end
end

-- Ends a run whose job waits now for a resource. What it had goes back, unless it was woken too often without being let in: then
-- it keeps that, and takes what of `free` it does not have; but whoever waits for a permit has none behind it by
-- name, so that no two wait for each other. What is strict is no exception: a job that has it and lacks another asks
-- for more than it did in its last run.
local function park_run(id, run, a, resource, free)
  local b = copy_of(a)
  local by_host = sub(resource, 1, 7) == 'custom:'
  if b.arrival == 0 then b.arrival = draw(1) elseif not by_host then b.failed_wakeups = b.failed_wakeups + 1 end
  local keeps = b.failed_wakeups >= max_failed_wakeups and not by_host
  sorted(line('processing', run.queue))
  sorted(line('throttled', run.queue))
  sorted(wait_line(run.queue, resource))
  b.fence, b.at, b.held = run.fence, resource, {}
  local has_now = {unpack(a.held)}
  for _, r in ipairs(spill_permits(id, run)) do has_now[#has_now + 1] = r end
  table.sort(has_now, by_bytes)
  local freed, is_permit = {}, limit_of(resource)
  for _, r in ipairs(has_now) do
    local kind, since = entry_of(r, id)
    if (kind == 'strict' or keeps) and (not is_permit or by_bytes(r, resource)) then
      b.held[#b.held + 1] = r
      add_entries(r, {id, (kind == 'strict' and 'strict' or 'kept') .. ' 0 ' .. since})
    else
      freed[#freed + 1] = r
      remove_entries(r, {id})
    end
  end
  for _, r in ipairs(keeps and free or {}) do
    b.held[#b.held + 1] = r
    add_entries(r, {id, 'kept 0 ' .. now_text})
  end
  call('ZREM', line('processing', run.queue), id)
  call('HDEL', runs, id)
  call('HSET', admission, id, write_admission(b))
  enqueue_waiter(id, run.queue, resource, b.arrival)
  for _, r in ipairs(freed) do pass_on(r) end
end
