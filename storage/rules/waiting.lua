-- Jobs that wait for a permit or a slot: their lines, who is woken, and what comes free when runs end.
local int_text, sorted = base.int_text, base.sorted
local wait_line, waits = keys.wait_line, keys.waits
local many, put = lists.many, lists.put
local draw = numbers.draw
local line = places.line
local add_entries, limit_of, permit_of, write_admission = admissions.add_entries, admissions.limit_of,
  admissions.permit_of, admissions.write_admission

function fresh.passed_on() return {} end    -- resources whose permits this step has promised to woken jobs
waiting.max_woken = 1000  -- by one permit that came free, or one higher limit; those that end, and a reconcile, go on

-- A queue runs when it is not paused and somebody serves it.
function fresh.known_to_run() return {} end
function waiting.queue_runs(step, queue)
  if step.known_to_run[queue] == nil then
    local until_ = call('ZSCORE', step.keys.served, queue)
    step.known_to_run[queue] = until_ and tonumber(until_) > step.now and
      call('SISMEMBER', step.keys.paused, queue) == 0
  end
  return step.known_to_run[queue]
end

-- Somebody waits whose queue runs. Otherwise the line stands still: nobody there can be woken now.
function waiting.has_runnable_waiter(step, resource)
  for _, queue in ipairs(call('SMEMBERS', waits(step, resource))) do
    if waiting.queue_runs(step, queue) then return true end
  end
  return false
end

function waiting.enqueue_waiter(step, id, queue, resource, arrival)
  call('ZADD', line(step, 'throttled', queue), int_text(arrival), id)
  call('ZADD', wait_line(step, queue, resource), int_text(arrival), id)
  call('SADD', waits(step, resource), queue)
  call('ZADD', step.keys.waiting, 0, resource)
end
-- After somebody of this queue left the line of a resource.
function waiting.close_empty_line(step, resource, queue)
  if call('EXISTS', wait_line(step, queue, resource)) == 1 then return end
  call('SREM', waits(step, resource), queue)
  if call('EXISTS', waits(step, resource)) == 1 then return end
  call('ZREM', step.keys.waiting, resource)
  call('ZREM', step.keys.next_checks, resource)
end
function waiting.remove_waiter(step, resource, id)
  for _, queue in ipairs(call('SMEMBERS', waits(step, resource))) do
    if call('ZREM', wait_line(step, queue, resource), id) == 1 then
      call('ZREM', line(step, 'throttled', queue), id)
      waiting.close_empty_line(step, resource, queue)
      return
    end
  end
end

-- The oldest of a line whose queues run. The cost grows with what is asked for and with queues, not with the line.
function waiting.first_waiters(step, resource, count)
  local found, lines = {}, 0
  for _, queue in ipairs(call('SMEMBERS', waits(step, resource))) do
    if waiting.queue_runs(step, queue) then
      lines = lines + 1
      local rows = call('ZRANGE', wait_line(step, queue, resource), 0, count - 1, 'WITHSCORES')
      for i = 1, #rows, 2 do found[#found + 1] = {id = rows[i], arrival = tonumber(rows[i + 1]), queue = queue} end
    end
  end
  if lines > 1 then table.sort(found, function(a, b) return a.arrival < b.arrival end) end
  for i = #found, count + 1, -1 do found[i] = nil end
  return found
end

-- Moves them to their queues' front lines, a suspect to its tail; `give` changes the admission of each. Nobody is woken
-- while there are no places to give: what has ended has ended all the same, and a reconcile goes on.
function waiting.wake_first(step, resource, count, give)
  local found, ids = step.can_draw and waiting.first_waiters(step, resource, count) or {}, {}
  if #found == 0 then return 0 end
  for i, w in ipairs(found) do ids[i] = w.id end
  local histories, had = many('HMGET', step.keys.history, ids), admissions.admissions_of(step, ids)
  local leaving, entering, changed, from = {}, {}, {}, {}
  local place = draw(step, #found)
  for i, w in ipairs(found) do
    -- Who claims one whose past cannot be read will see that.
    local losses = tonumber(match(histories[i] or '', '^%d+ (%d+) ') or '0')
    local a = admissions.copy_of(had[w.id] or admissions.no_admission)
    a.at = ''
    give(a, w.id)
    changed[2 * i - 1], changed[2 * i] = w.id, write_admission(a)
    lists.add_one(leaving, wait_line(step, w.queue, resource), w.id)
    lists.add_one(leaving, line(step, 'throttled', w.queue), w.id)
    lists.add_two(entering, sorted(step, line(step, places.is_suspect(losses) and 'suspect' or 'front', w.queue)),
                  int_text(place + i - 1), w.id)
    from[w.queue] = true
    step.woken_in[w.queue] = (step.woken_in[w.queue] or 0) + 1
    step.woken_now[w.id] = true
  end
  lists.each_list(leaving, 'ZREM')
  put(step.keys.admission, changed)
  lists.each_list(entering, 'ZADD')
  for queue in pairs(from) do waiting.close_empty_line(step, resource, queue) end
  step.woken = step.woken + #found
  return #found
end

-- Hands what is free of a resource to those who waited longest.
function waiting.pass_on(step, resource)
  if not call('ZSCORE', step.keys.waiting, resource) then return 0 end
  local limit = limit_of(step, resource)
  local room = limit and math.min(limit - admissions.held_of(step, resource), waiting.max_woken) or 0
  if room <= 0 then return 0 end
  local entries, since = {}, {}
  local got = waiting.wake_first(step, resource, room, function(a, id)
    a.held[#a.held + 1] = resource
    entries[#entries + 1], entries[#entries + 2] = id, 'reserved 0 ' .. step.now_text
    since[#since + 1], since[#since + 2] = step.now_text, admissions.reservation(resource, id)
  end)
  if got > 0 then
    step.passed_on[resource] = true
    add_entries(step, resource, entries)
    many('ZADD', step.keys.reserved, since)
  end
  return got
end

-- Makes up for what a line that is waited for has missed: its permit goes to whoever fits, and a line of a limiter that
-- has stood still, or lost its next check, is looked at again.
fresh.reopened = 0
function waiting.reconcile_line(step, resource)
  if admissions.hands_out_permits(resource) then return waiting.pass_on(step, resource) end
  if waiting.has_runnable_waiter(step, resource) and not call('ZSCORE', step.keys.next_checks, resource) then
    call('ZADD', step.keys.next_checks, step.now_text, resource)
    step.reopened = step.reopened + 1
  end
  return 0
end

-- Ends what these jobs have. What is strict stays with a job that is not final, for no run; the rest goes back and
-- on, in the order of the jobs. `had`: their admissions, by id; `took`: what stood in the rows of their runs, by
-- place; both as they were before the first write.
function waiting.give_back(step, ids, had, inline_permits, is_final)
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
    for _, resource in ipairs(last and admissions.permits_in(step, last) or {}) do
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
        if not is_final[id] then kind, since = admissions.entry_of(step, resource, id) end
        if kind == 'strict' then
          own[#own + 1] = resource
          add_entries(step, resource, {id, 'strict 0 ' .. since})
        else
          freed(resource)
          entries[resource][#entries[resource] + 1] = id
        end
      end
      if #own == 0 then
        gone[#gone + 1] = id
      else
        changed[#changed + 1], changed[#changed + 2] = id, admissions.admission_with(own)
      end
    end
  end
  count_last()
  local is_free = {}
  for _, name in ipairs(order) do
    if #entries[name] > 0 then admissions.remove_entries(step, name, entries[name]) end
    local is_over = counts[name] > 0 and admissions.count_claimed(step, name, -counts[name])
    is_free[name] = is_over or permit_of(name) == name
  end
  many('HDEL', step.keys.admission, gone)
  put(step.keys.admission, changed)
  for _, name in ipairs(order) do
    if is_free[name] then waiting.pass_on(step, permit_of(name)) end
  end
end

-- The rows of runs count what was taken, whatever was counted so far: one of them could not be read. Once is enough
-- for all of a step, since such rows count for nothing.
fresh.is_counted_anew = false
function waiting.count_anew(step)
  if step.is_counted_anew then return end
  step.is_counted_anew = true
  local counts = admissions.claims_by_rows(step)
  for _, name in ipairs(call('HKEYS', step.keys.claim_permits)) do counts[name] = counts[name] or 0 end
  for name, n in pairs(counts) do admissions.set_claims(step, name, n) end
  for name in pairs(counts) do waiting.pass_on(step, name) end
end

-- A job leaves the line in which it waits, if it does, and whatever else it has stays its own.
function waiting.leave_line(step, id)
  local a = admissions.admission_of(step, id)
  if a and a.at ~= '' then waiting.remove_waiter(step, a.at, id) end
end
-- A job leaves for good, whatever it does now: running, waiting or woken. `row` is that of its run, if it has one,
-- and is no more.
function waiting.forget_job(step, id, row)
  local run = row and values.read_run(row)
  local a, inline_permits = admissions.admission_of(step, id), run and run.permits ~= '' and run.permits
  if row and not run then
    a = a or admissions.recovered_admission(step, id)
    waiting.count_anew(step)
  end
  if not a and not inline_permits then return end
  if a then
    if a.at ~= '' then waiting.remove_waiter(step, a.at, id) end
    for _, resource in ipairs(a.held) do
      call('ZREM', step.keys.reserved, admissions.reservation(resource, id))
    end
  end
  waiting.give_back(step, {id}, {[id] = a}, {inline_permits}, {[id] = true})
end

-- How a newcomer finds a resource: its limit (nothing: not defined), how many hold it, and whether somebody waits
-- who would be overtaken.
function waiting.room_of(step, resource)
  admissions.check_throttlers(step)
  call('SCARD', waits(step, resource))
  local limit = limit_of(step, resource)
  return {limit = limit, held = limit and admissions.held_of(step, resource),
          waited_for = limit and call('ZSCORE', step.keys.waiting, resource) and
            #waiting.first_waiters(step, resource, 1) > 0}
end

-- Parks jobs of a queue that nothing is known of yet, for one resource each, in the order they come.
function waiting.park_fresh(step, queue, parks)
  local written, standing, lines, first = {}, {}, {}, draw(step, #parks)
  for i, p in ipairs(parks) do
    local n = int_text(first + i - 1)
    written[2 * i - 1] = p.id
    written[2 * i] = write_admission({arrival = first + i - 1, failed_wakeups = 0, fence = '0', at = p.resource,
                                      held = {}, slots = {}})
    standing[2 * i - 1], standing[2 * i] = n, p.id
    lists.add_two(lines, p.resource, n, p.id)
  end
  put(step.keys.admission, written)
  many('ZADD', line(step, 'throttled', queue), standing)
  for _, resource in ipairs(lines) do
    many('ZADD', wait_line(step, queue, resource), lines[resource])
    call('SADD', waits(step, resource), queue)
    call('ZADD', step.keys.waiting, 0, resource)
  end
end

-- Ends a run whose job waits now for a resource. What it had goes back, unless it was woken too often without being let
-- in: then it keeps that, and takes what of `free` it does not have; but whoever waits for a permit has none behind it
-- by name, so that no two wait for each other. What is strict is no exception: a job that has it and lacks another asks
-- for more than it did in its last run.
function waiting.park_run(step, id, run, a, resource, free)
  local b = admissions.copy_of(a)
  local by_host = sub(resource, 1, 7) == 'custom:'
  if b.arrival == 0 then b.arrival = draw(step, 1) elseif not by_host then b.failed_wakeups = b.failed_wakeups + 1 end
  local keeps = b.failed_wakeups >= constants.max_failed_wakeups and not by_host
  sorted(step, line(step, 'processing', run.queue))
  sorted(step, line(step, 'throttled', run.queue))
  sorted(step, wait_line(step, run.queue, resource))
  b.fence, b.at, b.held = run.fence, resource, {}
  local has_now = {unpack(a.held)}
  for _, r in ipairs(admissions.spill_permits(step, id, run)) do has_now[#has_now + 1] = r end
  table.sort(has_now, lists.by_bytes)
  local freed, is_permit = {}, limit_of(step, resource)
  for _, r in ipairs(has_now) do
    local kind, since = admissions.entry_of(step, r, id)
    if (kind == 'strict' or keeps) and (not is_permit or lists.by_bytes(r, resource)) then
      b.held[#b.held + 1] = r
      add_entries(step, r, {id, (kind == 'strict' and 'strict' or 'kept') .. ' 0 ' .. since})
    else
      freed[#freed + 1] = r
      admissions.remove_entries(step, r, {id})
    end
  end
  for _, r in ipairs(keeps and free or {}) do
    b.held[#b.held + 1] = r
    add_entries(step, r, {id, 'kept 0 ' .. step.now_text})
  end
  call('ZREM', line(step, 'processing', run.queue), id)
  call('HDEL', step.keys.runs, id)
  call('HSET', step.keys.admission, id, write_admission(b))
  waiting.enqueue_waiter(step, id, run.queue, resource, b.arrival)
  for _, r in ipairs(freed) do waiting.pass_on(step, r) end
end
