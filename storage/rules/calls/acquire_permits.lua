-- Gives permits to starts, or parks them; each alone, in the order they come.
-- ARGV from 3, for each group of alike runs: their number; s when what they get is strict, else empty; 1 when they
-- may be parked, else 0; the number of resources, these; then for each run id, fence.
-- Answer: a letter for each run (g granted, p parked, b busy, u undefined, s stale); the hint; for
-- each that is p, b or u the resource.
-- Invariants: who was asked to end before its handler began is deleted, and stale; a run gets all or none; nobody gets
-- what somebody waits for whose queue runs; who is parked leaves `runs` and its lease, and its history stays as it was;
-- a run of a chain gets no more than it has. Passes when memory is out.
local many = lists.many
local read_run = values.read_run
local no_admission = admissions.no_admission

-- A call while it goes on: what it asks for, what it has found, and what is to be written. `had` has the admissions by
-- id; it is made nil when some of them may be of old, and then each is read again.
local function read_call(args)
  local p = {ids = {}, fences = {}, group_of = {}, rows = {},  -- by the place of the run
             limit = {}, room = {}, first_served = {},         -- by resource
             parked = {}, spilled = {}, marked = {},           -- by id
             granted = {}, changed = {}, changes = 0, moved_out = {}}  -- for write_grants
  local n, at = 0, 3
  while args[at] do
    local count, first = tonumber(args[at]), at + 4
    local group = {strict = args[at + 1] == 's', may_wait = args[at + 2] == '1', wants = {}}
    at = first + args[at + 3]
    for i = first, at - 1 do group.wants[i - first + 1] = args[i] end
    group.admission = admissions.admission_with(group.wants)
    for _ = 1, count do
      n = n + 1
      p.group_of[n], p.ids[n], p.fences[n] = group, args[at], args[at + 1]
      at = at + 2
    end
  end
  return p
end

-- Looks at all that the call may touch before its first write; who was asked to end is deleted then.
local function look_at_runs(step, p)
  admissions.check_throttlers(step)
  numbers.may_draw(step)
  call('HLEN', step.keys.admission)
  if step.has_flow then
    call('HLEN', step.keys.flow)
    call('HLEN', step.keys.held_keys)
    base.sorted(step, step.keys.agenda)
  end
  p.rows, p.had = many('HMGET', step.keys.runs, p.ids), admissions.admissions_of(step, p.ids)
  local asked = cancelling.asked_among(p.rows, p.ids, p.fences)
  if #asked > 0 then
    cancelling.end_before_begin(step, asked)
    p.rows, p.had = many('HMGET', step.keys.runs, p.ids), nil
  end
end

-- Grants are written together, as late as others may look.
local function write_grants(step, p)
  many('HSET', step.keys.runs, p.moved_out)  -- first: whoever ends a run looks for admissions by what it says
  for _, resource in ipairs(p.granted) do admissions.add_entries(step, resource, p.granted[resource]) end
  lists.put(step.keys.admission, p.changed)
  p.granted, p.changed, p.changes, p.moved_out = {}, {}, 0, {}
end
local function admission_now(step, p, id)
  if p.had then return p.had[id] or no_admission end
  write_grants(step, p)
  return admissions.admission_of(step, id) or no_admission
end

local function is_defined(step, p, resource)
  if p.limit[resource] == nil then p.limit[resource] = admissions.limit_of(step, resource) or false end
  return p.limit[resource]
end
-- Whether a newcomer finds a permit, once those who wait for one were served.
local function has_room(step, p, resource)
  if not p.room[resource] then p.room[resource] = p.limit[resource] - admissions.held_of(step, resource) end
  if p.room[resource] > 0 and not p.first_served[resource] then
    p.first_served[resource] = true
    if call('ZSCORE', step.keys.waiting, resource) then
      write_grants(step, p)
      local passed = waiting.pass_on(step, resource)
      p.room[resource] = p.room[resource] - passed
      if passed > 0 then p.had = nil end  -- some of it may be of old
    end
  end
  return p.room[resource] > 0
end

-- The row of a run says from now on that its job has an admission.
local function mark_row(p, i, run)
  local id = p.ids[i]
  if p.marked[id] then return end
  local s = run or read_run(p.rows[i])
  p.marked[id] = true
  s.has = values.has_with_admission[s.has] or s.has
  p.moved_out[#p.moved_out + 1], p.moved_out[#p.moved_out + 2] = id, values.write_run(s)
end
local function make_strict(step, id, fence, a)
  for _, resource in ipairs(a.held) do
    local kind, since = admissions.entry_of(step, resource, id)
    if kind ~= 'strict' then admissions.add_entries(step, resource, {id, 'strict ' .. fence .. ' ' .. since}) end
  end
end
-- With `run`, what it had of its claim stands in its admission from now on.
local function grant(step, p, i, a, missing, run)
  local id, fence, group = p.ids[i], p.fences[i], p.group_of[i]
  if #missing == 0 and not group.strict then return end
  if run then
    a = admissions.copy_of(a)
    for _, resource in ipairs(admissions.spill_permits(step, id, run)) do a.held[#a.held + 1] = resource end
    p.spilled[id] = true
  end
  mark_row(p, i, run)
  if group.strict then make_strict(step, id, fence, a) end
  if #missing == 0 and not run then return end
  local entry = (group.strict and 'strict ' or 'held ') .. fence .. ' ' .. step.now_text
  for _, resource in ipairs(missing) do
    lists.add_two(p.granted, resource, id, entry)
    p.room[resource] = p.room[resource] - 1
  end
  local now_has = group.admission
  if a ~= no_admission then
    local b = admissions.copy_of(a)
    for _, resource in ipairs(missing) do b.held[#b.held + 1] = resource end
    table.sort(b.held, lists.by_bytes)
    now_has = admissions.write_admission(b)
  end
  p.changed[p.changes + 1], p.changed[p.changes + 2] = id, now_has
  p.changes = p.changes + 2
  if p.had then p.had[id] = admissions.read_admission(step, now_has) end
end
-- It waits for a resource from now on. `free` are those that it lacks, too, and would get.
local function park(step, p, i, a, resource, free)
  local id, parting = p.ids[i], read_run(p.rows[i])
  if not parting then return 's' end
  if p.spilled[id] then parting.permits = '' end
  write_grants(step, p)
  waiting.park_run(step, id, parting, a, resource, free)
  p.parked[id] = true
  p.had, p.room, p.first_served = nil, {}, {}
  return 'p', resource
end

-- Answers what a run wants and does not have; or nothing, and the first resource that is not defined.
local function missing_of(step, p, group, a, run)
  local plain = a == no_admission and not run
  local inline_permits = run and {held = admissions.permits_in(step, run.permits)}
  local missing = plain and group.wants or {}
  for _, resource in ipairs(group.wants) do
    if not is_defined(step, p, resource) then return nil, resource end
    if not plain and not admissions.has_permit(a, resource) and
       not (inline_permits and admissions.has_permit(inline_permits, resource)) then
      missing[#missing + 1] = resource
    end
  end
  return missing
end
-- Answers the letter of the i-th run, and the resource if it has one.
local function decide(step, p, i)
  local id, fence, group, row = p.ids[i], p.fences[i], p.group_of[i], p.rows[i]
  local a = admission_now(step, p, id)
  local run = row and read_run(row)
  if row and not run then return 's' end
  -- it has all that it may
  if run and sub(admissions.permits_in(step, run.permits)[1] or '', 1, 6) == 'chain:' then return 's' end
  if run and (run.permits == '' or p.spilled[id]) then run = nil end
  if not row or p.parked[id] or fence == '0' or sub(row, 1, #fence + 1) ~= fence .. ' ' then
    if a.at ~= '' and a.fence == fence and fence ~= '0' then return 'p', a.at end
    return 's'
  end
  local missing, undefined = missing_of(step, p, group, a, run)
  if not missing then return 'u', undefined end
  for n, resource in ipairs(missing) do
    if not has_room(step, p, resource) then
      if not group.may_wait then return 'b', resource end
      return park(step, p, i, a, resource, {unpack(missing, 1, n - 1)})
    end
  end
  grant(step, p, i, a, missing, run)
  return 'g'
end

function calls.acquire_permits(step)
  local p = read_call(step.args)
  look_at_runs(step, p)
  local letters, resources = {}, {}
  for i in ipairs(p.ids) do
    letters[i], resources[#resources + 1] = decide(step, p, i)
  end
  write_grants(step, p)
  if step.has_flow and next(p.parked) then
    local its = {}
    for id in pairs(p.parked) do its[#its + 1] = id end
    continuations.tell_of_parked(step, its)
  end
  return {table.concat(letters), hints.finish(step), resources}
end
