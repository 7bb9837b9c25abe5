-- Writes.
-- Gives permits to starts, or parks them; each alone, in the order they come.
-- ARGV from 3, for each group of alike runs: their number; s when what they get is strict, else empty; 1 when they
-- may be parked, else 0; the number of resources, these; then for each run id, fence.
-- Answer: a letter for each run (g granted, p parked, b busy, u undefined, s stale); the hint; for
-- each that is p, b or u the resource.
-- Invariants: who was asked to end before its handler began is deleted, and stale; a run gets all or none; nobody gets what somebody waits for whose queue runs; who is parked leaves
-- `runs` and its lease, and its history stays as it was; a run of a chain gets no more than it has. Passes when memory
-- is out.
begin_freeing()
local groups, group_of, ids, fences, n = {}, {}, {}, {}, 0
local at = 3
while ARGV[at] do
  local count, first = tonumber(ARGV[at]), at + 4
  local group = {strict = ARGV[at + 1] == 's', may_wait = ARGV[at + 2] == '1', wants = {}}
  groups[#groups + 1] = group
  at = first + ARGV[at + 3]
  for i = first, at - 1 do group.wants[i - first + 1] = ARGV[i] end
  group.admission = admission_with(group.wants)
  for _ = 1, count do
    n = n + 1
    group_of[n], ids[n], fences[n] = group, ARGV[at], ARGV[at + 1]
    at = at + 2
  end
end
check_throttlers()
may_draw()
call('HLEN', admission)
if has_flow then
  call('HLEN', flow)
  call('HLEN', held_keys)
  sorted(agenda)
end
local rows, had = many('HMGET', runs, ids), admissions_of(ids)
local asked = asked_among(rows, ids, fences)
if #asked > 0 then
  on_demand().end_before_begin(asked)
  rows, had = many('HMGET', runs, ids), nil
end

-- Grants are written together, as late as others may look.
local limit, room, first_served = {}, {}, {}
local granted, changed, changes, parked, moved_out, spilled, marked = grouped(), {}, 0, {}, {}, {}, {}
local function write_grants()
  for _, resource in ipairs(granted.order) do add_entries(resource, granted.of[resource]) end
  put(admission, changed)
  many('HSET', runs, moved_out)
  granted, changed, changes, moved_out = grouped(), {}, 0, {}
end

local function is_defined(resource)
  if limit[resource] == nil then limit[resource] = limit_of(resource) or false end
  return limit[resource]
end
local function has_room(resource)
  if not room[resource] then room[resource] = limit[resource] - held_of(resource) end
  if room[resource] > 0 and not first_served[resource] then
    first_served[resource] = true
    if call('ZSCORE', waiting, resource) then
      write_grants()
      local passed = pass_on(resource)
      room[resource] = room[resource] - passed
      if passed > 0 then had = nil end  -- some of it may be of old
    end
  end
  return room[resource] > 0
end

-- With `start`, what it had of its claim stands in its admission from now on.
local function grant(id, fence, group, a, missing, run, row)
  if #missing == 0 and not group.strict then return end
  if run then
    a = copy_of(a)
    for _, resource in ipairs(spill_permits(id, run)) do a.held[#a.held + 1] = resource end
    spilled[id] = true
  end
  if not marked[id] then
    local s = run or read_run(row)
    marked[id] = true
    s.has = has_with_admission[s.has] or s.has
    moved_out[#moved_out + 1], moved_out[#moved_out + 2] = id, write_run(s)
  end
  if group.strict then
    for _, resource in ipairs(a.held) do
      local kind, since = entry_of(resource, id)
      if kind ~= 'strict' then add_entries(resource, {id, 'strict ' .. fence .. ' ' .. since}) end
    end
  end
  if #missing == 0 and not run then return end
  local entry = (group.strict and 'strict ' or 'held ') .. fence .. ' ' .. now_text
  for _, resource in ipairs(missing) do
    add_two(granted, resource, id, entry)
    room[resource] = room[resource] - 1
  end
  local now_has = group.admission
  if a ~= no_admission then
    local b = copy_of(a)
    for _, resource in ipairs(missing) do b.held[#b.held + 1] = resource end
    table.sort(b.held, by_bytes)
    now_has = write_admission(b)
  end
  changed[changes + 1], changed[changes + 2] = id, now_has
  changes = changes + 2
  if had then had[id] = read_admission(now_has) end
end

local function decide(id, fence, group, row)
  local a = had and had[id]
  if not had then
    write_grants()
    a = admission_of(id)
  end
  a = a or no_admission
  local run = row and read_run(row)
  if row and not run then return 's' end
  if run and sub(permits_in(run.permits)[1] or '', 1, 6) == 'chain:' then return 's' end  -- it has all that it may
  if run and (run.permits == '' or spilled[id]) then run = nil end
  if not row or parked[id] or fence == '0' or sub(row, 1, #fence + 1) ~= fence .. ' ' then
    if a.at ~= '' and a.fence == fence and fence ~= '0' then return 'p', a.at end
    return 's'
  end
  local plain = a == no_admission and not run
  local inline_permits = run and {held = permits_in(run.permits)}
  local missing = plain and group.wants or {}
  for _, resource in ipairs(group.wants) do
    if not is_defined(resource) then return 'u', resource end
    if not plain and not has_permit(a, resource) and not (inline_permits and has_permit(inline_permits, resource)) then
      missing[#missing + 1] = resource
    end
  end
  for i, resource in ipairs(missing) do
    if not has_room(resource) then
      if not group.may_wait then return 'b', resource end
      local parting = read_run(row)
      if not parting then return 's' end
      if spilled[id] then parting.permits = '' end
      write_grants()
      park_run(id, parting, a, resource, {unpack(missing, 1, i - 1)})
      parked[id] = true
      had, room, first_served = nil, {}, {}
      return 'p', resource
    end
  end
  grant(id, fence, group, a, missing, run, row)
  return 'g'
end

local letters, resources = {}, {}
for i, id in ipairs(ids) do
  letters[i], resources[#resources + 1] = decide(id, fences[i], group_of[i], rows[i])
end
write_grants()
if has_flow and next(parked) then
  local its = {}
  for id in pairs(parked) do its[#its + 1] = id end
  on_demand().tell_of_parked(its)
end
return {table.concat(letters), finish(), resources}
