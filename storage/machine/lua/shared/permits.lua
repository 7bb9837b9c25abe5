-- What jobs have of throttlers: their admissions, and who holds permits. storage/admission.hpp says what these mean.
-- Invariants: a job's admission names exactly the resources that hold an entry of it, and the one line it stands in;
-- `claim_permits` counts the runs and chains that took a resource with their claim, see permit_of; `busy`, `waiting` and
-- the sets of queues name exactly what is not empty; `reserved` has each entry of that kind.
--
-- An entry is "kind fence since". held: of the start with that fence; strict: the job's own until it is final;
-- reserved: a woken job's that was not claimed yet; kept: a waiting job's that was woken too often without being let in.

-- An admission: "arrival failed_wakeups fence n m ", then as "length:bytes" the resource it waits for, the n resources
-- it has, and m times a slot: "until " and its resource. arrival is the number of its first parking (0: none),
-- failed_wakeups how many wakes ended in parking again, fence that of the run that was parked last.
local admissions_read = {}  -- by text, since most of a batch are; so nobody changes what was read
local no_admission = {arrival = 0, failed_wakeups = 0, fence = '0', at = '', held = {}, slots = {}}
local function read_admission(value)
  if admissions_read[value] then return admissions_read[value] end
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
  admissions_read[value] = a
  return a
end
local function write_admission(a)
  local parts = {int_text(a.arrival) .. ' ' .. a.failed_wakeups .. ' ' .. a.fence .. ' ' ..
                 #a.held .. ' ' .. #a.slots .. ' ' .. text(a.at)}
  for _, resource in ipairs(a.held) do parts[#parts + 1] = text(resource) end
  for _, slot in ipairs(a.slots) do parts[#parts + 1] = int_text(slot.until_) .. ' ' .. text(slot.resource) end
  return table.concat(parts)
end
local function admission_with(held)
  return write_admission({arrival = 0, failed_wakeups = 0, fence = '0', at = '', held = held, slots = {}})
end
local function copy_of(a)
  local b = {arrival = a.arrival, failed_wakeups = a.failed_wakeups, fence = a.fence, at = a.at, held = {}, slots = {}}
  for i, resource in ipairs(a.held) do b.held[i] = resource end
  for i, slot in ipairs(a.slots) do b.slots[i] = slot end
  return b
end

-- An admission that cannot be read, from what it stood for: its permits must not be lost with it.
local function recovered_admission(id)
  local a = copy_of(no_admission)
  for _, resource in ipairs(call('ZRANGE', busy, 0, -1)) do
    if call('HEXISTS', holders(resource), id) == 1 then a.held[#a.held + 1] = resource end
  end
  for _, resource in ipairs(call('ZRANGE', waiting, 0, -1)) do
    for _, queue in ipairs(call('SMEMBERS', waits(resource))) do
      local arrival = call('ZSCORE', wait_line(queue, resource), id)
      if arrival then a.at, a.arrival = resource, tonumber(arrival) end
    end
  end
  return a
end

local are_checked = false
-- Before the first write of whatever changes admissions.
local function check_throttlers()
  if are_checked then return end
  are_checked = true
  for _, key in ipairs({admission, claim_permits, limits, definitions, configs, limiters}) do call('HLEN', key) end
  for _, key in ipairs({busy, waiting, reserved, next_checks, served}) do sorted(key) end
end

-- Of those that have one. Costs next to nothing while nobody has.
local function admissions_of(ids)
  local found = {}
  if #ids == 0 or call('HLEN', admission) == 0 then return found end
  check_throttlers()
  for i, value in ipairs(many('HMGET', admission, ids)) do
    if value then found[ids[i]] = read_admission(value) or recovered_admission(ids[i]) end
  end
  return found
end
local function admission_of(id) return admissions_of({id})[id] end

local function has_permit(a, resource)
  for _, held in ipairs(a.held) do
    if held == resource then return true end
  end
  return false
end

-- What a claim took, as it stands in the row of a run, each as "length:bytes": a resource, or a chain.
local rows_read = {}  -- by that text, since most of a batch are alike; so nobody changes what was read
local function permits_in(permits)
  local held = rows_read[permits]
  if held then return held end
  held = {}
  local place = 1
  while place and place <= #permits do held[#held + 1], place = text_at(permits, place) end
  rows_read[permits] = held
  return held
end

-- How many may have it; nothing when it is not defined, or no such thing as a permit.
local function limit_of(resource)
  local said = call('HGET', limits, resource)
  if said then return tonumber(match(said, '^%d+$') or '0') end
  return sub(resource, 1, 6) == 'mutex:' and 1 or nil
end

local function entry_of(resource, id)
  local kind, _, since = match(call('HGET', holders(resource), id) or '', '^(%a+) (%d+) (%d+)$')
  return kind or 'held', since or now_text
end
-- What is no such thing is a limiter, or a line of one.
local function hands_out_permits(resource)
  return sub(resource, 1, 6) == 'mutex:' or sub(resource, 1, 10) == 'semaphore:'
end
-- "KIND:NAME/KEY" is a line of the limiter "KIND:NAME".
local function limiter_of(resource) return match(resource, '^[^/]*') end
local function reservation(resource, id) return text(resource) .. id end
-- Entries of a resource, as id and text in turn.
local function add_entries(resource, entries)
  put(holders(resource), entries)
  call('ZADD', busy, 0, resource)
end
local function close_unheld(resource)
  if call('EXISTS', holders(resource)) == 0 and call('HEXISTS', claim_permits, resource) == 0 then
    call('ZREM', busy, resource)
  end
end
local function remove_entries(resource, ids)
  many('HDEL', holders(resource), ids)
  close_unheld(resource)
end
-- What its count says; nothing when that cannot be read.
local function said_count(resource)
  local said = call('HGET', claim_permits, resource)
  return not said and 0 or (#said < 16 and tonumber(match(said, '^%d+$'))) or nil
end
-- One permit for several jobs of one claim, which its server runs one after the other, is a chain. Its runs name it,
-- "chain:FENCE:RESOURCE" with the first of their fences, and it has the permit as long as there is one of them.
local function permit_of(name) return match(name, '^chain:%d+:(.*)$') or name end
-- How many took each, by the rows of runs: a chain is counted by its runs, and as one of those that have its resource.
local function claims_by_rows()
  local counts = {}
  local function count(name)
    counts[name] = (counts[name] or 0) + 1
    return counts[name]
  end
  for _, its in ipairs(all_runs()) do
    local run = read_run(its.row)
    for _, name in ipairs(run and permits_in(run.permits) or {}) do
      if count(name) == 1 and permit_of(name) ~= name then count(permit_of(name)) end
    end
  end
  return counts
end
local function claims_of(name) return claims_by_rows()[name] or 0 end
local function held_of(resource)
  return call('HLEN', holders(resource)) + (said_count(resource) or claims_of(resource))
end
-- A count that cannot be read is made anew; true when it could not.
local function recount(resource)
  if said_count(resource) then return false end
  call('HSET', claim_permits, resource, int_text(claims_of(resource)))
  return true
end
local function set_claims(name, n)
  if n > 0 then
    call('HSET', claim_permits, name, int_text(n))
    if permit_of(name) == name then call('ZADD', busy, 0, name) end
  else
    call('HDEL', claim_permits, name)
    close_unheld(name)
  end
end
local counted_by_rows = {}  -- whose count could not be read: the rows have changed for all of this step
-- Of those whose rows name it. The rows have changed already. Whether it has no runs any more.
local function count_claimed(name, by)
  local said = not counted_by_rows[name] and said_count(name) or nil
  counted_by_rows[name] = not said
  local n = said and said + by or claims_of(name)
  if n > 0 and said and said > 0 then call('HSET', claim_permits, name, int_text(n)) else set_claims(name, n) end
  local resource = permit_of(name)
  if resource ~= name and n <= 0 then count_claimed(resource, -1)
  elseif resource ~= name and n == by then count_claimed(resource, 1) end
  return n <= 0
end
-- Gives what its claim took entries of its own, for whatever is not the plain end of a run. The row is the caller's.
-- Who leaves a chain that goes on leaves the permit to the others.
local function spill_permits(id, run)
  local held = {}
  for _, name in ipairs(permits_in(run.permits)) do
    local resource = permit_of(name)
    recount(resource)  -- the row says still that it took it
    recount(name)
    if resource == name or said_count(name) == 1 then
      add_entries(resource, {id, 'held ' .. run.fence .. ' ' .. run.started})
      held[#held + 1] = resource
    end
    count_claimed(name, -1)
  end
  run.permits = ''
  return held
end

-- What a claimed job has, for the claim's answer: "i n " and n resources as "length:bytes".
local function permits_told(i, held, slots)
  local all = {}
  for _, resource in ipairs(held) do all[#all + 1] = resource end
  for _, slot in ipairs(slots) do all[#all + 1] = slot.resource end
  if #all == 0 then return '' end
  table.sort(all, by_bytes)
  for n, resource in ipairs(all) do all[n] = text(resource) end
  return i .. ' ' .. #all .. ' ' .. table.concat(all)
end
-- What claimed jobs have belongs to their runs from now on: the i-th has fence + i - 1. Slots that lapsed are
-- forgotten, so that the same answer can be given again.
local function admit_claimed(ids, had, fence)
  local all = {}
  for i, id in ipairs(ids) do
    local a = had[id]
    if a then
      for _, resource in ipairs(a.held) do
        local kind, since = entry_of(resource, id)
        if kind == 'reserved' then call('ZREM', reserved, reservation(resource, id)) end
        add_entries(resource, {id, (kind == 'strict' and 'strict ' or 'held ') .. int_text(fence + i - 1) .. ' ' .. since})
      end
      local good = {}
      for _, slot in ipairs(a.slots) do
        if slot.until_ > now then good[#good + 1] = slot end
      end
      if #good < #a.slots then
        local b = copy_of(a)
        b.slots = good
        call('HSET', admission, id, write_admission(b))
      end
      all[#all + 1] = permits_told(i, a.held, good)
    end
  end
  return table.concat(all)
end
