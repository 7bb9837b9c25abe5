-- Groups of jobs, which others may wait for as for one job. A row of `groups`: "state open succeeded failed deleted
-- created ended": o while more may be added, s when it is sealed, c when it was cancelled; how many of its members have
-- not ended, and how many have, as what; ended is 0 until it is finished. `members(GROUP)` has its members: 0 while
-- they have not ended, 4 when they were asked to stop, and 1, 2, 3 for succeeded, failed and deleted. A group in a
-- group is a member of it, as @NAME.
-- Invariants: a group is finished when it is sealed or cancelled and no member is open. It has an entry in the agenda
-- while it is not sealed, and when it is finished, until it is forgotten; a member that was pruned counts on.
local int_text, longest = base.int_text, base.longest
local members = keys.members
local change_flow, flow_of, owes_at, owes_no_more = flow.change_flow, flow.flow_of, flow.owes_at, flow.owes_no_more
groups.group_kept = 86400000000  -- behind its end, and longer while members or those who wait for it are stored
function fresh.group_rows() return {} end  -- by name; false: there is none
function fresh.groups_changed() return {} end
function groups.node_of(group) return '@' .. group end
function groups.group_in(node) return sub(node, 1, 1) == '@' and sub(node, 2) end
function groups.group_of(step, name)
  if step.group_rows[name] == nil then
    local state, open, s, f, d, created, ended =
      match(call('HGET', step.keys.group_counts, name) or '',
                   '^([osc]) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
    step.group_rows[name] = state and {state = state, open = tonumber(open), s = tonumber(s), f = tonumber(f),
                                       d = tonumber(d), created = tonumber(created), ended = tonumber(ended)} or false
  end
  return step.group_rows[name]
end
function groups.write_group(g)
  return g.state .. ' ' .. int_text(g.open) .. ' ' .. int_text(g.s) .. ' ' .. int_text(g.f) .. ' ' .. int_text(g.d) ..
         ' ' .. int_text(g.created) .. ' ' .. int_text(g.ended)
end
function groups.change_group(step, name, g) step.group_rows[name], step.groups_changed[name] = g, true end
function groups.is_finished(g) return g.state ~= 'o' and g.open == 0 end
-- As what it has ended: empty while it has not.
function groups.end_of_group(g)
  if not groups.is_finished(g) then return '' end
  return g.f > 0 and 'f' or (g.d > 0 or g.state == 'c') and 'd' or 's'
end
-- Whether it, or one that it is in, was cancelled.
function groups.is_cancelled(step, name)
  local g = groups.group_of(step, name)
  if not g or g.state == 'c' then return true end
  local f = flow_of(step, groups.node_of(name))
  return f and f.group and groups.is_cancelled(step, f.group) or false
end
-- As what a member or a group has ended, by its letter.
groups.words_of_ends = {s = 'succeeded', f = 'failed', d = 'deleted'}
-- Of a group, as a group_status (include/sluice/job.hpp); nothing of one that is not there.
function groups.status(step, name)
  local g = groups.group_of(step, name)
  if not g then return nil end
  local f = flow_of(step, groups.node_of(name))
  local seal_by = g.state == 'o' and call('ZSCORE', step.keys.agenda, 'seal - ' .. groups.node_of(name)) or '0'
  local ended = g.ended > 0
  return {name = name, ['in'] = f and f.group or nil, sealed = g.state ~= 'o', cancelled = g.state == 'c',
          open = g.open, succeeded = g.s, failed = g.f, deleted = g.d, created_at = g.created,
          finished_at = ended and g.ended or nil,
          ended_as = ended and groups.words_of_ends[groups.end_of_group(g)] or nil,
          seal_by = clocks.told(tonumber(seal_by))}
end
groups.member_scores = {s = '1', f = '2', d = '3'}
function groups.put_member(step, group, id, score)
  lists.add_two(step.changes.edges, base.sorted(step, members(step, group)), score, id)
end

-- Why nobody may be added to it: no_group, cancelled or sealed; nothing when somebody may. Who runs as its member holds
-- it open.
function groups.why_closed(step, name, by, by_fence)
  local g = groups.group_of(step, name)
  if not g then return 'no_group' end
  if groups.is_cancelled(step, name) then return 'cancelled' end
  if g.state == 'o' then return nil end
  local f, row = by ~= '' and flow_of(step, by), by ~= '' and call('HGET', step.keys.runs, by)
  local is_its = f and f.group == name and row and sub(row, 1, #by_fence + 1) == by_fence .. ' '
  return not is_its and 'sealed' or nil
end
function groups.add_member(step, name, id)
  local g = groups.group_of(step, name)
  g.open = g.open + 1
  groups.change_group(step, name, g)
  groups.put_member(step, name, id, '0')
end

-- A group has come to its end, by its last member, its seal or its cancelling.
function groups.finish_group(step, name, g)
  g.ended = step.now
  groups.change_group(step, name, g)
  owes_no_more(step, 'seal - ' .. groups.node_of(name))
  owes_at(step, 'forget - ' .. groups.node_of(name), math.min(step.now + groups.group_kept, longest))
  changes.end_for_good(step, groups.node_of(name), groups.end_of_group(g))
end
-- A member has ended so.
function groups.count_end(step, id, f, letter)
  local g = f.group and f.counted == '-' and groups.group_of(step, f.group)
  if not g then return end
  f.counted = letter
  change_flow(step, id, f)
  g.open, g[letter] = math.max(0, g.open - 1), g[letter] + 1
  groups.change_group(step, f.group, g)
  groups.put_member(step, f.group, id, groups.member_scores[letter])
  if letter == 'f' and g.f == 1 then changes.end_for_good(step, groups.node_of(f.group), 'e') end
  if groups.is_finished(g) then groups.finish_group(step, f.group, g) end
end
-- A member that had ended goes on. Groups that had finished and go on with it are added to `again`.
function groups.count_again(step, id, f, again)
  local g = f.group and f.counted ~= '-' and groups.group_of(step, f.group)
  if not g then return end
  local node, was_finished = groups.node_of(f.group), groups.is_finished(g)
  g.open, g[f.counted], f.counted = g.open + 1, g[f.counted] - 1, '-'
  change_flow(step, id, f)
  groups.change_group(step, f.group, g)
  groups.put_member(step, f.group, id, '0')
  if not was_finished then return end
  g.ended = 0
  owes_no_more(step, 'forget - ' .. node)
  flow.take_back_end(step, node)
  again[#again + 1] = node
  local its = flow_of(step, node)
  if its then groups.count_again(step, node, its, again) end
end

local function cancel_group(step, name)
  local g = groups.group_of(step, name)
  owes_no_more(step, 'seal - ' .. groups.node_of(name))
  if not g or g.state == 'c' or groups.is_finished(g) then return false end
  g.state = 'c'
  groups.change_group(step, name, g)
  if g.open > 0 then
    flow.owes(step, 'cancel - ' .. groups.node_of(name))
  else
    groups.finish_group(step, name, g)
  end
  return true
end
-- A job that runs is asked to end, as by a person's cancel.
local function ask_to_end(step, id, reason)
  local run, p = values.read_run(call('HGET', step.keys.runs, id) or ''),
    values.read_history(call('HGET', step.keys.history, id))
  if not run or not p or values.is_asked_to_end(run) then return end
  values.remember(step, p, '0', 0, step.now_text, '', values.text('cancel_asked') .. values.text(reason) .. '0')
  p.reason, run.has = 'cancellation asked for: ' .. reason, values.has_when_asked[run.has]
  changes.set_history(step, id, p)
  changes.set_run(step, id, run)
  hints.has_work(step, '!')
end
function groups.cancel_unsealed(step, name)
  local g = groups.group_of(step, name)
  if not g or g.state == 'o' then
    cancel_group(step, name)
  else
    owes_no_more(step, 'seal - ' .. groups.node_of(name))
  end
end
-- Some members of a cancelled group are ended, or asked to stop: so many in one step, of all groups together.
local max_cancelled = 250
fresh.cancelled_now = 0
function groups.cancel_members(step, name)
  local slice = max_cancelled - step.cancelled_now
  if slice <= 0 then return end
  owes_no_more(step, 'cancel - ' .. groups.node_of(name))
  local ids = call('ZRANGE', members(step, name), 0, 0, 'BYSCORE', 'LIMIT', 0, slice)
  flow.read_flows(step, ids)
  for _, id in ipairs(ids) do
    local nested = groups.group_in(id)
    local has_ended = false
    if nested then cancel_group(step, nested)
    else has_ended = early_ends.end_waiting(step, id, 'd', 'its group ' .. name .. ' was cancelled', 'cancelled') end
    if not has_ended then
      groups.put_member(step, name, id, '4')
      if not nested then ask_to_end(step, id, 'its group ' .. name .. ' was cancelled') end
    end
  end
  step.cancelled_now = step.cancelled_now + #ids
  if #ids == slice then flow.owes(step, 'cancel - ' .. groups.node_of(name)) end
end
-- A group that has finished is removed once nobody who was in it or waits for it is stored.
function groups.forget_group(step, name, may_go)
  local g = groups.group_of(step, name)
  owes_no_more(step, 'forget - ' .. groups.node_of(name))
  if not g or not groups.is_finished(g) then return end
  if may_go and call('EXISTS', members(step, name)) == 0 then
    table.insert(step.changes.groups_gone, name)
  else
    owes_at(step, 'forget - ' .. groups.node_of(name), math.min(step.now + groups.group_kept, longest))
  end
end

-- How many groups a group is in, itself among them.
local max_depth = 16
local function depth_of(step, name)
  local depth = 0
  while name ~= '' and depth < max_depth do
    local f = flow_of(step, groups.node_of(name))
    depth, name = depth + 1, f and f.group or ''
  end
  return depth
end
-- What a person or a program says of a group; see change_group.lua. `parent` and `seal_within` are of create.
function groups.plan_group_change(step, what, name, parent, seal_within)
  local g, node = groups.group_of(step, name), groups.node_of(name)
  if what == 'create' then
    local f = flow_of(step, node)
    if g then return (f and f.group or '') == parent and 'already' or 'other ' .. (f and f.group or '') end
    local closed = parent ~= '' and groups.why_closed(step, parent, '', '')
    if closed then return closed .. ' ' .. parent end
    if depth_of(step, parent) >= max_depth then return 'too_deep ' .. parent end
    if parent ~= '' then
      change_flow(step, node, {has_children = false, group = parent, counted = '-'})
      groups.add_member(step, parent, node)
    end
    groups.change_group(step, name, {state = 'o', open = 0, s = 0, f = 0, d = 0, created = step.now, ended = 0})
    owes_at(step, 'seal - ' .. node, math.min(step.now + tonumber(seal_within), longest))
    return 'done'
  end
  if not g then return 'not_found' end
  if what == 'cancel' then
    if g.state == 'c' then return 'already' end
    return cancel_group(step, name) and 'done' or 'is finished'
  end
  if g.state == 's' then return 'already' end
  if g.state == 'c' then return 'is cancelled' end
  g.state = 's'
  groups.change_group(step, name, g)
  owes_no_more(step, 'seal - ' .. node)
  if g.open == 0 then groups.finish_group(step, name, g) end
  return 'done'
end
