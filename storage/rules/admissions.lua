-- What jobs have of throttlers: their admissions, and who holds permits. storage/admission.hpp says what these mean.
-- Invariants: a job's admission names exactly the resources that hold an entry of it, and the one line it stands in;
-- `claim_permits` counts the runs and chains that took a resource with their claim, see permit_of; `busy`, `waiting`
-- and the sets of queues name exactly what is not empty; `reserved` has each entry of that kind.
--
-- An entry is "kind fence since". held: of the start with that fence; strict: the job's own until it is final;
-- reserved: a woken job's that was not claimed yet; kept: a waiting job's that was woken too often without being let
-- in.
local int_text = base.int_text
local holders = keys.holders
local text, text_at = values.text, values.text_at

-- An admission: "arrival failed_wakeups fence n m ", then as "length:bytes" the resource it waits for, the n resources
-- it has, and m times a slot: "until " and its resource. arrival is the number of its first parking (0: none),
-- failed_wakeups how many wakes ended in parking again, fence that of the run that was parked last.
function fresh.admissions_read() return {} end  -- by text, since most of a batch are; so nobody changes what was read
admissions.no_admission = {arrival = 0, failed_wakeups = 0, fence = '0', at = '', held = {}, slots = {}}
function admissions.read_admission(step, value)
  if step.admissions_read[value] then return step.admissions_read[value] end
  local arrival, failed_wakeups, fence, n, m, place = match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) ()')
  if not arrival then return nil end
  local a = {arrival = tonumber(arrival), failed_wakeups = tonumber(failed_wakeups), fence = fence, held = {},
             slots = {}}
  a.at, place = text_at(value, place)
  for i = 1, tonumber(n) do
    if not place then return nil end
    a.held[i], place = text_at(value, place)
  end
  for i = 1, tonumber(m) do
    local until_, from = match(value, '^(%d+) ()', place or #value + 1)
    if not until_ then return nil end
    a.slots[i] = {until_ = tonumber(until_)}
    a.slots[i].resource, place = text_at(value, from)
  end
  if not place then return nil end
  step.admissions_read[value] = a
  return a
end
function admissions.write_admission(a)
  local parts = {int_text(a.arrival) .. ' ' .. a.failed_wakeups .. ' ' .. a.fence .. ' ' ..
                 #a.held .. ' ' .. #a.slots .. ' ' .. text(a.at)}
  for _, resource in ipairs(a.held) do parts[#parts + 1] = text(resource) end
  for _, slot in ipairs(a.slots) do parts[#parts + 1] = int_text(slot.until_) .. ' ' .. text(slot.resource) end
  return table.concat(parts)
end
function admissions.admission_with(held)
  return admissions.write_admission({arrival = 0, failed_wakeups = 0, fence = '0', at = '', held = held, slots = {}})
end
function admissions.copy_of(a)
  local b = {arrival = a.arrival, failed_wakeups = a.failed_wakeups, fence = a.fence, at = a.at, held = {}, slots = {}}
  for i, resource in ipairs(a.held) do b.held[i] = resource end
  for i, slot in ipairs(a.slots) do b.slots[i] = slot end
  return b
end

-- An admission that cannot be read, from what it stood for: its permits must not be lost with it.
function admissions.recovered_admission(step, id)
  local a = admissions.copy_of(admissions.no_admission)
  for _, resource in ipairs(call('ZRANGE', step.keys.busy, 0, -1)) do
    if call('HEXISTS', holders(step, resource), id) == 1 then a.held[#a.held + 1] = resource end
  end
  for _, resource in ipairs(call('ZRANGE', step.keys.waiting, 0, -1)) do
    for _, queue in ipairs(call('SMEMBERS', keys.waits(step, resource))) do
      local arrival = call('ZSCORE', keys.wait_line(step, queue, resource), id)
      if arrival then a.at, a.arrival = resource, tonumber(arrival) end
    end
  end
  return a
end

fresh.are_checked = false
-- Before the first write of whatever changes admissions.
function admissions.check_throttlers(step)
  if step.are_checked then return end
  step.are_checked = true
  for _, key in ipairs({step.keys.admission, step.keys.claim_permits, step.keys.limits, step.keys.definitions,
                        step.keys.configs, step.keys.limiters}) do
    call('HLEN', key)
  end
  for _, key in ipairs({step.keys.busy, step.keys.waiting, step.keys.reserved, step.keys.next_checks,
                        step.keys.served}) do
    base.sorted(step, key)
  end
end

-- Of those that have one. Costs next to nothing while nobody has.
function admissions.admissions_of(step, ids)
  local found = {}
  if #ids == 0 or call('HLEN', step.keys.admission) == 0 then return found end
  admissions.check_throttlers(step)
  for i, value in ipairs(lists.many('HMGET', step.keys.admission, ids)) do
    if value then
      found[ids[i]] = admissions.read_admission(step, value) or admissions.recovered_admission(step, ids[i])
    end
  end
  return found
end
function admissions.admission_of(step, id) return admissions.admissions_of(step, {id})[id] end

function admissions.has_permit(a, resource)
  for _, held in ipairs(a.held) do
    if held == resource then return true end
  end
  return false
end

-- What a claim took, as it stands in the row of a run, each as "length:bytes": a resource, or a chain.
-- by that text, since most of a batch are alike; so nobody changes what was read
function fresh.rows_read() return {} end
function admissions.permits_in(step, permits)
  local held = step.rows_read[permits]
  if held then return held end
  held = {}
  local place = 1
  while place and place <= #permits do held[#held + 1], place = text_at(permits, place) end
  step.rows_read[permits] = held
  return held
end

-- How many may have it; nothing when it is not defined, or no such thing as a permit.
function admissions.limit_of(step, resource)
  local said = call('HGET', step.keys.limits, resource)
  if said then return tonumber(match(said, '^%d+$') or '0') end
  return sub(resource, 1, 6) == 'mutex:' and 1 or nil
end

function admissions.entry_of(step, resource, id)
  local kind, _, since = match(call('HGET', holders(step, resource), id) or '', '^(%a+) (%d+) (%d+)$')
  return kind or 'held', since or step.now_text
end
-- What is no such thing is a limiter, or a line of one.
function admissions.hands_out_permits(resource)
  return sub(resource, 1, 6) == 'mutex:' or sub(resource, 1, 10) == 'semaphore:'
end
-- "KIND:NAME/KEY" is a line of the limiter "KIND:NAME".
function admissions.limiter_of(resource) return match(resource, '^[^/]*') end
function admissions.reservation(resource, id) return text(resource) .. id end
-- Entries of a resource, as id and text in turn.
function admissions.add_entries(step, resource, entries)
  lists.put(holders(step, resource), entries)
  call('ZADD', step.keys.busy, 0, resource)
end
local function close_unheld(step, resource)
  if call('EXISTS', holders(step, resource)) == 0 and call('HEXISTS', step.keys.claim_permits,
                                                                       resource) == 0 then
    call('ZREM', step.keys.busy, resource)
  end
end
function admissions.remove_entries(step, resource, ids)
  lists.many('HDEL', holders(step, resource), ids)
  close_unheld(step, resource)
end
-- What its count says; nothing when that cannot be read.
function admissions.said_count(step, resource)
  local said = call('HGET', step.keys.claim_permits, resource)
  return not said and 0 or (#said < 16 and tonumber(match(said, '^%d+$'))) or nil
end
-- One permit for several jobs of one claim, which its server runs one after the other, is a chain. Its runs name it,
-- "chain:FENCE:RESOURCE" with the first of their fences, and it has the permit as long as there is one of them.
function admissions.permit_of(name) return match(name, '^chain:%d+:(.*)$') or name end
-- How many took each, by the rows of runs: a chain is counted by its runs, and as one of those that have its resource.
function admissions.claims_by_rows(step)
  local counts = {}
  local function count(name)
    counts[name] = (counts[name] or 0) + 1
    return counts[name]
  end
  for _, its in ipairs(places.all_runs(step)) do
    local run = values.read_run(its.row)
    for _, name in ipairs(run and admissions.permits_in(step, run.permits) or {}) do
      if count(name) == 1 and admissions.permit_of(name) ~= name then count(admissions.permit_of(name)) end
    end
  end
  return counts
end
function admissions.claims_of(step, name) return admissions.claims_by_rows(step)[name] or 0 end
function admissions.held_of(step, resource)
  return call('HLEN', holders(step, resource)) + (admissions.said_count(step, resource) or
                                                        admissions.claims_of(step, resource))
end
-- A count that cannot be read is made anew; true when it could not.
local function recount(step, resource)
  if admissions.said_count(step, resource) then return false end
  call('HSET', step.keys.claim_permits, resource, int_text(admissions.claims_of(step, resource)))
  return true
end
function admissions.set_claims(step, name, n)
  if n > 0 then
    call('HSET', step.keys.claim_permits, name, int_text(n))
    if admissions.permit_of(name) == name then call('ZADD', step.keys.busy, 0, name) end
  else
    call('HDEL', step.keys.claim_permits, name)
    close_unheld(step, name)
  end
end
-- whose count could not be read: the rows have changed for all of this step
function fresh.counted_by_rows() return {} end
-- Of those whose rows name it. The rows have changed already. Whether it has no runs any more.
function admissions.count_claimed(step, name, by)
  local is_by_rows = step.is_counted_anew or step.counted_by_rows[name]
  local said = not is_by_rows and admissions.said_count(step, name) or nil
  step.counted_by_rows[name] = not said
  local n = said and said + by or admissions.claims_of(step, name)
  if n > 0 and said and said > 0 then call('HSET', step.keys.claim_permits, name,
                                                 int_text(n)) else admissions.set_claims(step, name, n) end
  local resource = admissions.permit_of(name)
  if resource ~= name and n <= 0 then admissions.count_claimed(step, resource, -1)
  elseif resource ~= name and n == by then admissions.count_claimed(step, resource, 1) end
  return n <= 0
end
-- Gives what its claim took entries of its own, for whatever is not the plain end of a run. The row is the caller's.
-- Who leaves a chain that goes on leaves the permit to the others.
function admissions.spill_permits(step, id, run)
  local held = {}
  for _, name in ipairs(admissions.permits_in(step, run.permits)) do
    local resource = admissions.permit_of(name)
    recount(step, resource)  -- the row says still that it took it
    recount(step, name)
    if resource == name or admissions.said_count(step, name) == 1 then
      admissions.add_entries(step, resource, {id, 'held ' .. run.fence .. ' ' .. run.started})
      held[#held + 1] = resource
    end
    admissions.count_claimed(step, name, -1)
  end
  run.permits = ''
  return held
end

-- What a claimed job has, for the claim's answer: "i n " and n resources as "length:bytes".
function admissions.permits_told(i, held, slots)
  local all = {}
  for _, resource in ipairs(held) do all[#all + 1] = resource end
  for _, slot in ipairs(slots) do all[#all + 1] = slot.resource end
  if #all == 0 then return '' end
  table.sort(all, lists.by_bytes)
  for n, resource in ipairs(all) do all[n] = text(resource) end
  return i .. ' ' .. #all .. ' ' .. table.concat(all)
end
-- What claimed jobs have belongs to their runs from now on: the i-th has fence + i - 1. Slots that lapsed are
-- forgotten, so that the same answer can be given again.
function admissions.admit_claimed(step, ids, had, fence)
  local all = {}
  for i, id in ipairs(ids) do
    local a = had[id]
    if a then
      for _, resource in ipairs(a.held) do
        local kind, since = admissions.entry_of(step, resource, id)
        if kind == 'reserved' then call('ZREM', step.keys.reserved, admissions.reservation(resource, id)) end
        admissions.add_entries(step, resource, {id, (kind == 'strict' and 'strict ' or 'held ') ..
                                                int_text(fence + i - 1) .. ' ' .. since})
      end
      local good = {}
      for _, slot in ipairs(a.slots) do
        if slot.until_ > step.now then good[#good + 1] = slot end
      end
      if #good < #a.slots then
        local b = admissions.copy_of(a)
        b.slots = good
        call('HSET', step.keys.admission, id, admissions.write_admission(b))
      end
      all[#all + 1] = admissions.permits_told(i, a.held, good)
    end
  end
  return table.concat(all)
end
