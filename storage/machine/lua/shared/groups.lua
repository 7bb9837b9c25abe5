-- Groups of jobs, which others may wait for as for one job. A row of `groups`: "state open succeeded failed deleted
-- created ended": o while more may be added, s when it is sealed, c when it was cancelled; how many of its members have
-- not ended, and how many have, as what; ended is 0 until it is finished. `members(GROUP)` has its members: 0 while they
-- have not ended, 4 when they were asked to stop, and 1, 2, 3 for succeeded, failed and deleted. A group in a group is a
-- member of it, as @NAME.
-- Invariants: a group is finished when it is sealed or cancelled and no member is open. It has an entry in the agenda
-- while it is not sealed, and when it is finished, until it is forgotten; a member that was pruned counts on.
local group_kept = 86400000000  -- behind its end, and longer while members or those who wait for it are stored
local group_rows = {}  -- by name; false: there is none
local groups_changed = {}
local groups_gone = {}
local function node_of(group) return '@' .. group end
local function group_in(node) return sub(node, 1, 1) == '@' and sub(node, 2) end
local function group_of(name)
  if group_rows[name] == nil then
    local state, open, s, f, d, created, ended =
      match(call('HGET', group_counts, name) or '', '^([osc]) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
    group_rows[name] = state and {state = state, open = tonumber(open), s = tonumber(s), f = tonumber(f), d = tonumber(d),
                                  created = tonumber(created), ended = tonumber(ended)} or false
  end
  return group_rows[name]
end
local function write_group(g)
  return g.state .. ' ' .. int_text(g.open) .. ' ' .. int_text(g.s) .. ' ' .. int_text(g.f) .. ' ' .. int_text(g.d) .. ' ' ..
         int_text(g.created) .. ' ' .. int_text(g.ended)
end
local function change_group(name, g) group_rows[name], groups_changed[name] = g, true end
local function is_finished(g) return g.state ~= 'o' and g.open == 0 end
-- As what it has ended: empty while it has not.
local function end_of_group(g)
  if not is_finished(g) then return '' end
  return g.f > 0 and 'f' or (g.d > 0 or g.state == 'c') and 'd' or 's'
end
-- Whether it, or one that it is in, was cancelled.
local function is_cancelled(name)
  local g = group_of(name)
  if not g or g.state == 'c' then return true end
  local f = flow_of(node_of(name))
  return f and f.group and is_cancelled(f.group) or false
end
-- Adds four values to an answer: its name, the group that it is in or empty, its row, and the instant at which it is
-- cancelled unless it was sealed, 0 when it was. Nothing of a group that is not there.
local function tell_group(name, answer)
  local g, n = group_of(name), #answer
  if not g then return end
  local f = flow_of(node_of(name))
  local seal_by = g.state == 'o' and tonumber(call('ZSCORE', agenda, 'seal - ' .. node_of(name)) or '0') or 0
  answer[n + 1], answer[n + 2] = name, f and f.group or ''
  answer[n + 3], answer[n + 4] = write_group(g), int_text(seal_by)
end
local member_scores = {s = '1', f = '2', d = '3'}
local function put_member(group, id, score) add_two(flow_plan.edges, sorted(members(group)), score, id) end

-- Why nobody may be added to it: no_group, cancelled or sealed; nothing when somebody may. Who runs as its member holds
-- it open.
local function why_closed(name, by, by_fence)
  local g = group_of(name)
  if not g then return 'no_group' end
  if is_cancelled(name) then return 'cancelled' end
  if g.state == 'o' then return nil end
  local f, row = by ~= '' and flow_of(by), by ~= '' and call('HGET', runs, by)
  local is_its = f and f.group == name and row and sub(row, 1, #by_fence + 1) == by_fence .. ' '
  return not is_its and 'sealed' or nil
end
local function add_member(name, id)
  local g = group_of(name)
  g.open = g.open + 1
  change_group(name, g)
  put_member(name, id, '0')
end

-- A group has come to its end, by its last member, its seal or its cancelling.
local function finish_group(name, g, ended)
  g.ended = now
  change_group(name, g)
  owes_no_more('seal - ' .. node_of(name))
  owes_at('forget - ' .. node_of(name), math.min(now + group_kept, longest))
  ended[#ended + 1] = {node_of(name), end_of_group(g)}
end
-- A member has ended so.
local function count_end(id, f, letter, ended)
  local g = f.group and f.counted == '-' and group_of(f.group)
  if not g then return end
  f.counted = letter
  change_flow(id, f)
  g.open, g[letter] = math.max(0, g.open - 1), g[letter] + 1
  change_group(f.group, g)
  put_member(f.group, id, member_scores[letter])
  if letter == 'f' and g.f == 1 then ended[#ended + 1] = {node_of(f.group), 'e'} end
  if is_finished(g) then finish_group(f.group, g, ended) end
end
-- A member that had ended goes on. Groups that had finished and go on with it are added to `again`.
local function count_again(id, f, again)
  local g = f.group and f.counted ~= '-' and group_of(f.group)
  if not g then return end
  local node, was_finished = node_of(f.group), is_finished(g)
  g.open, g[f.counted], f.counted = g.open + 1, g[f.counted] - 1, '-'
  change_flow(id, f)
  change_group(f.group, g)
  put_member(f.group, id, '0')
  if not was_finished then return end
  g.ended = 0
  owes_no_more('forget - ' .. node)
  take_back_end(node)
  again[#again + 1] = node
  local its = flow_of(node)
  if its then count_again(node, its, again) end
end

local function cancel_group(name, ended)
  local g = group_of(name)
  owes_no_more('seal - ' .. node_of(name))
  if not g or g.state == 'c' or is_finished(g) then return false end
  g.state = 'c'
  change_group(name, g)
  if g.open > 0 then owes('cancel - ' .. node_of(name)) else finish_group(name, g, ended) end
  return true
end
-- A job that runs is asked to end, as by a person's cancel.
local function ask_to_end(id, reason)
  local run, p = read_run(call('HGET', runs, id) or ''), read_history(call('HGET', history, id))
  if not run or not p or is_asked_to_end(run) then return end
  remember(p, '0', 0, now_text, '', text('cancel_asked') .. text(reason) .. '0')
  p.reason, run.has = 'cancellation asked for: ' .. reason, has_when_asked[run.has]
  local histories, its_runs = flow_plan.histories, flow_plan.runs
  histories[#histories + 1], histories[#histories + 2] = id, write_history(p)
  its_runs[#its_runs + 1], its_runs[#its_runs + 2] = id, write_run(run)
  has_work('!')
end
local function cancel_unsealed(name, ended)
  local g = group_of(name)
  if not g or g.state == 'o' then cancel_group(name, ended) else owes_no_more('seal - ' .. node_of(name)) end
end
-- Some members of a cancelled group are ended, or asked to stop: so many in one step, of all groups together.
local max_cancelled = 250
local cancelled_now = 0
local function cancel_members(name, ended)
  local slice = max_cancelled - cancelled_now
  if slice <= 0 then return end
  owes_no_more('cancel - ' .. node_of(name))
  local ids = call('ZRANGE', members(name), 0, 0, 'BYSCORE', 'LIMIT', 0, slice)
  read_flows(ids)
  for _, id in ipairs(ids) do
    local nested = group_in(id)
    local has_ended = false
    if nested then cancel_group(nested, ended)
    else has_ended = end_waiting(id, 'd', 'its group ' .. name .. ' was cancelled', 'cancelled', ended) end
    if not has_ended then
      put_member(name, id, '4')
      if not nested then ask_to_end(id, 'its group ' .. name .. ' was cancelled') end
    end
  end
  cancelled_now = cancelled_now + #ids
  if #ids == slice then owes('cancel - ' .. node_of(name)) end
end
-- A group that has finished is removed once nobody who was in it or waits for it is stored.
local function forget_group(name, may_go)
  local g = group_of(name)
  owes_no_more('forget - ' .. node_of(name))
  if not g or not is_finished(g) then return end
  if may_go and call('EXISTS', members(name)) == 0 then
    groups_gone[#groups_gone + 1] = name
  else
    owes_at('forget - ' .. node_of(name), math.min(now + group_kept, longest))
  end
end

-- How many groups a group is in, itself among them.
local max_depth = 16
local function depth_of(name)
  local depth = 0
  while name ~= '' and depth < max_depth do
    local f = flow_of(node_of(name))
    depth, name = depth + 1, f and f.group or ''
  end
  return depth
end
-- What a person or a program says of a group; see change_group.lua. `parent` and `seal_within` are of create.
local function plan_group_change(what, name, parent, seal_within, ended)
  local g, node = group_of(name), node_of(name)
  if what == 'create' then
    local f = flow_of(node)
    if g then return (f and f.group or '') == parent and 'already' or 'other ' .. (f and f.group or '') end
    local closed = parent ~= '' and why_closed(parent, '', '')
    if closed then return closed .. ' ' .. parent end
    if depth_of(parent) >= max_depth then return 'too_deep ' .. parent end
    if parent ~= '' then
      change_flow(node, {has_children = false, group = parent, counted = '-'})
      add_member(parent, node)
    end
    change_group(name, {state = 'o', open = 0, s = 0, f = 0, d = 0, created = now, ended = 0})
    owes_at('seal - ' .. node, math.min(now + tonumber(seal_within), longest))
    return 'done'
  end
  if not g then return 'not_found' end
  if what == 'cancel' then
    if g.state == 'c' then return 'already' end
    return cancel_group(name, ended) and 'done' or 'is finished'
  end
  if g.state == 's' then return 'already' end
  if g.state == 'c' then return 'is cancelled' end
  g.state = 's'
  change_group(name, g)
  owes_no_more('seal - ' .. node)
  if g.open == 0 then finish_group(name, g, ended) end
  return 'done'
end
