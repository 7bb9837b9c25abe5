-- What a job has to do with others and with time: its row of `flow`, and what a step owes because of it.
--
-- A row of `flow`: "children", 1 when jobs may wait for this one, else 0; then whatever it has of these, in this order:
--   " gCOUNTED", and its group as "length:bytes". How it counts there: - open, else s, f or d as it ended.
--   " kPOINT", and its unique key as "length:bytes". Until when it holds the key: e its end, s its start, p a period.
--   " tWITHIN BY WITHIN BY": how long it may wait for its start, and the instant by which it must have begun; the same
--     of its end. In microseconds; an instant of 0 is not set.
--   " need delay unmet on unless n ", of a child that is not final, or was deleted as unmet; then for each parent a
-- digit     and its id as "length:bytes". The digit: 0 its end is open, 1 it ended as the child wants, 2 it did not; 3
-- and 4 as     1 and 2, of one that was not there. on: s, f, d for succeeded, failed and deleted, or e for the first
-- failure in a     group; unless: d, r, k for delete, run and keep, or u while `repair` does not know all of its
-- parents: it awaits     them, whatever has ended.
-- A group has a row, too, as @NAME, when jobs wait for it or it is in a group itself.
-- Invariant: `flow_mark` is there when `flow` is not empty.
-- Nothing of a row that cannot be read, or has something behind it.
local longest = base.longest
local text, text_at = values.text, values.text_at
function flow.read_flow(value)
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
  local start_within, start_by, finish_within, finish_by, after_clock =
    match(value, '^ t(%d+) (%d+) (%d+) (%d+)()', at)
  if start_within then
    at = after_clock
    f.clock = {start_within = math.min(tonumber(start_within), longest),
               start_by = math.min(tonumber(start_by), longest),
               finish_within = math.min(tonumber(finish_within), longest),
               finish_by = math.min(tonumber(finish_by), longest)}
  end
  local need, delay, unmet, on, unless, n, of_parents = match(value, '^ (%d+) (%d+) (%d) (%l+) (%l) (%d+) ()',
                                                                     at)
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
function flow.write_flow(f)
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

-- Rows that this step has met, and those of them that it changes.
function fresh.flow_rows() return {} end     -- by id, as read or changed; false: none
function fresh.flow_changed() return {} end  -- by id
function flow.flow_of(step, id)
  if step.flow_rows[id] == nil then
    local value = call('HGET', step.keys.flow, id)
    step.flow_rows[id] = value and flow.read_flow(value) or false
  end
  return step.flow_rows[id]
end
-- Reads the rows of many at once.
function flow.read_flows(step, ids)
  for i, value in ipairs(lists.many('HMGET', step.keys.flow, ids)) do
    if step.flow_rows[ids[i]] == nil then step.flow_rows[ids[i]] = value and flow.read_flow(value) or false end
  end
end
-- One of its parents, as a parent_state (include/sluice/job.hpp).
function flow.parent(parent)
  local group = match(parent.id, '^@(.*)$')
  local its = {id = not group and parent.id or nil, group = group}
  if parent.state ~= '0' then its.met = parent.state == '1' or parent.state == '3' end
  return its
end
function flow.change_flow(step, id, f) step.flow_rows[id], step.flow_changed[id] = f, true end

-- The agenda: what is to be done from an instant on, worked off by promote. "edges HOW ID" when the job ended so and
-- not all that wait for it were told, "again - ID" when it was requeued and not all were, "expire - ID" to look at its
-- times, "key - KEY" when the period of a key is over, and of a group, as @NAME: "seal" to cancel it if it was not
-- sealed, "cancel" to end its members, "forget" to remove it.
fresh.first_of_agenda = 'unread'  -- then an instant; false: it is empty
function flow.look_at_agenda(step)
  if step.first_of_agenda == 'unread' then
    call('HLEN', step.keys.flow)
    step.first_of_agenda = tonumber(call('ZRANGE', step.keys.agenda, 0, 0, 'WITHSCORES')[2] or '') or false
  end
end
function flow.owes_at(step, member, instant)
  flow.look_at_agenda(step)
  step.changes.owed[member] = instant
  if not step.first_of_agenda or instant < step.first_of_agenda then hints.has_work(step, '@') end
end
-- Due, whatever becomes of the clock.
function flow.owes(step, member) flow.owes_at(step, member, 0) end
function flow.owes_no_more(step, member)
  flow.look_at_agenda(step)
  if step.first_of_agenda or step.changes.owed[member] then step.changes.owed[member] = false end
end
flow.ways_to_end = {'s', 'f', 'd', 'e'}
-- Of a final job or a finished group that goes on: what its end still owes is for its next end. That a member has
-- failed stays so.
function flow.take_back_end(step, id)
  for _, letter in ipairs({'s', 'f', 'd'}) do flow.owes_no_more(step, 'edges ' .. letter .. ' ' .. id) end
end
