-- What a job has to do with others and with time: its row of `flow`, and what a step is to change because of it. A step
-- plans all this before its first write (continuations.lua) and then carries it out.
--
-- A row of `flow`: "children", 1 when jobs may wait for this one, else 0; then whatever it has of these, in this order:
--   " gCOUNTED", and its group as "length:bytes". How it counts there: - open, else s, f or d as it ended.
--   " kPOINT", and its unique key as "length:bytes". Until when it holds the key: e its end, s its start, p a period.
--   " tWITHIN BY WITHIN BY": how long it may wait for its start, and the instant by which it must have begun; the same
--     of its end. In microseconds; an instant of 0 is not set.
--   " need delay unmet on unless n ", of a child that is not final, or was deleted as unmet; then for each parent a digit
--     and its id as "length:bytes". The digit: 0 its end is open, 1 it ended as the child wants, 2 it did not; 3 and 4 as
--     1 and 2, of one that was not there. on: s, f, d for succeeded, failed and deleted, or e for the first failure in a
--     group; unless: d, r, k for delete, run and keep, or u while `repair` does not know all of its parents: it awaits
--     them, whatever has ended.
-- A group has a row, too, as @NAME, when jobs wait for it or it is in a group itself.
-- Invariant: `flow_mark` is there when `flow` is not empty.
-- Nothing of a row that cannot be read, or has something behind it.
local function read_flow(value)
  local f, at = {has_children = sub(value, 1, 1) == '1'}, 2
  local letter, behind = match(value, '^ g([sfd-])()', at)
  if letter then
    f.counted, f.group, at = letter, text_at(value, behind)
    if not f.group then return nil end
  end
  letter, behind = match(value, '^ k([esp])()', at)
  if letter then
    f.point, f.key, at = letter, text_at(value, behind)
    if not f.key then return nil end
  end
  local start_within, start_by, finish_within, finish_by, after_clock = match(value, '^ t(%d+) (%d+) (%d+) (%d+)()', at)
  if start_within then
    at = after_clock
    f.clock = {start_within = math.min(tonumber(start_within), longest), start_by = math.min(tonumber(start_by), longest),
               finish_within = math.min(tonumber(finish_within), longest),
               finish_by = math.min(tonumber(finish_by), longest)}
  end
  local need, delay, unmet, on, unless, n, of_parents = match(value, '^ (%d+) (%d+) (%d) (%l+) (%l) (%d+) ()', at)
  if need then
    f.need, f.delay, f.is_unmet, f.on, f.unless, f.parents =
      tonumber(need), math.min(tonumber(delay), longest), unmet == '1', on, unless, {}
    at = of_parents
    for i = 1, tonumber(n) do
      local id, next_at = text_at(value, at + 1)
      if not id then return nil end
      f.parents[i] = {id = id, state = sub(value, at, at)}
      at = next_at
    end
    f.need = math.min(math.max(f.need, 1), #f.parents)  -- more than there are would be waited for without end
  end
  return at > #value and f or nil
end
-- Nothing when there is no need of it.
local function write_flow(f)
  if not (f.has_children or f.group or f.key or f.clock or f.parents) then return nil end
  local row, c, parents = f.has_children and '1' or '0', f.clock, f.parents
  if f.group then row = row .. ' g' .. f.counted .. text(f.group) end
  if f.key then row = row .. ' k' .. f.point .. text(f.key) end
  if c then row = row .. format(' t%d %d %d %d', c.start_within, c.start_by, c.finish_within, c.finish_by) end
  if not parents then return row end
  row = row .. format(' %d %d %d %s %s %d ', f.need, f.delay, f.is_unmet and 1 or 0, f.on, f.unless, #parents)
  if #parents == 1 then return row .. parents[1].state .. text(parents[1].id) end
  local parts = {row}
  for i, parent in ipairs(parents) do parts[i + 1] = parent.state .. text(parent.id) end
  return table.concat(parts)
end

-- What this step changes; it is written by carry_out_ends.
local flow_rows = {}     -- by id, as read or changed; false: none
local flow_changed = {}  -- by id
local function flow_of(id)
  if flow_rows[id] == nil then
    local value = call('HGET', flow, id)
    flow_rows[id] = value and read_flow(value) or false
  end
  return flow_rows[id]
end
-- Reads the rows of many at once.
local function read_flows(ids)
  for i, value in ipairs(many('HMGET', flow, ids)) do
    if flow_rows[ids[i]] == nil then flow_rows[ids[i]] = value and read_flow(value) or false end
  end
end
local function change_flow(id, f)
  flow_rows[id], flow_changed[id] = f, true
end

-- What else it changes: lines, histories, and the agenda.
local flow_plan = {}
local flow_moved = {}  -- by id: it leaves its line by what is planned
local function begin_flow_plan()
  for id in pairs(flow_moved) do flow_moved[id] = nil end
  flow_plan.leaving, flow_plan.entering, flow_plan.edges, flow_plan.dropped = grouped(), grouped(), grouped(), grouped()
  flow_plan.staying = grouped()  -- who has another place in its line; before somebody leaves
  flow_plan.histories = {}
  flow_plan.runs = {}
  flow_plan.due = {}        -- by queue: the earliest instant
  flow_plan.refresh = {}    -- queues whose scheduled line somebody leaves
  flow_plan.forgotten = {}  -- who leaves what it has of throttlers
  flow_plan.owed = {}       -- what stands in `agenda` -> the instant from which on it is to be done, or false: no more
end
begin_flow_plan()

-- The agenda: what is to be done from an instant on, worked off by promote. "edges HOW ID" when the job ended so and not
-- all that wait for it were told, "again - ID" when it was requeued and not all were, "expire - ID" to look at its
-- times, "key - KEY" when the period of a key is over, and of a group, as @NAME: "seal" to cancel it if it was not
-- sealed, "cancel" to end its members, "forget" to remove it.
local first_of_agenda = nil  -- an instant; false: it is empty
local function look_at_agenda()
  if first_of_agenda == nil then
    call('HLEN', flow)
    first_of_agenda = tonumber(call('ZRANGE', agenda, 0, 0, 'WITHSCORES')[2] or '') or false
  end
end
local function owes_at(member, instant)
  look_at_agenda()
  flow_plan.owed[member] = instant
  if not first_of_agenda or instant < first_of_agenda then has_work('@') end
end
-- Due, whatever becomes of the clock.
local function owes(member) owes_at(member, 0) end
local function owes_no_more(member)
  look_at_agenda()
  if first_of_agenda or flow_plan.owed[member] then flow_plan.owed[member] = false end
end
local ways_to_end = {'s', 'f', 'd', 'e'}
-- Of a final job or a finished group that goes on: what its end still owes is for its next end. That a member has failed
-- stays so.
local function take_back_end(id)
  for _, letter in ipairs({'s', 'f', 'd'}) do owes_no_more('edges ' .. letter .. ' ' .. id) end
end
