-- Jobs that run after others: a child names parents, jobs or groups, and is awaiting until enough of them have ended as
-- it wants. Every way in which a job ends for good comes here (plan_ends), in the step that ends it; it alone lets go of
-- the job's key, counts in its group and tells those that wait.
--
-- `after(PARENT)` has the parent's children: 0 while its end is open to them, or -1 where they wait for the first failure
-- of a group, then 1, and 2 for those that were deleted as unmet. They leave it when they are final in another way.
-- Invariants: a parent stays stored while a child of it that is not final may ask for its result. Who is awaiting has a
-- row. A step resolves at most about max_resolved ends of parents; what it still owes stands in `agenda`, and promote
-- goes on with it. The next requeue of a parent takes back an end that is owed: the children that it did not come to
-- await the next.
local max_resolved = 80
local resolved = {n = 0}

-- Whether enough have ended as it wants, and whether too many have not.
local function verdict_on(f)
  if f.unless == 'u' then return false, false end
  local met, unmet = 0, 0
  for _, parent in ipairs(f.parents) do
    local state = parent.state
    if state == '1' or state == '3' then met = met + 1 elseif state ~= '0' then unmet = unmet + 1 end
  end
  return met >= f.need, unmet > #f.parents - f.need
end

-- Not of one that was never there, or has been forgotten: what is stored under its id by now is another job.
local function is_there(parent)
  local its = parent.state < '3' and flow_of(parent.id)
  return its and its.has_children
end
local function after_parent(id) return sorted(after(id)) end
local function enter_after_release(id, queue, f)
  if f.delay > 0 then
    local at = now + f.delay
    add_two(flow_plan.entering, sorted(line('scheduled', queue)), int_text(at), id)
    sorted(due)
    flow_plan.due[queue] = math.min(flow_plan.due[queue] or at, at)
    has_work('@')
  else
    add_two(flow_plan.entering, sorted(line('ready', queue)), int_text(draw(1)), id)
    has_work(queue)
  end
  start_clock(id, f, now + f.delay)
end
-- How a child stands in the line of a parent whose end is open to it, or not.
local function edge_score(f, parent)
  if parent.state == '0' then return f.on == 'e' and '-1' or '0' end
  return f.is_unmet and '2' or '1'
end
-- Its place among the children of each of its parents.
local function put_edges(id, f)
  for _, parent in ipairs(f.parents) do
    if is_there(parent) then add_two(flow_plan.edges, after_parent(parent.id), edge_score(f, parent), id) end
  end
  resolved.n = resolved.n + #f.parents - 1
end
local words_of_ends = {s = 'succeeded', f = 'failed', d = 'deleted'}
-- It ends as deleted since a parent of it did not end as it wants.
local function enter_as_unmet(id, queue, f, parent, letter)
  local group = group_in(parent)
  local reason = (group and 'its group ' .. group or 'its parent ' .. parent) ..
                 (words_of_ends[letter] and ' ended as ' .. words_of_ends[letter] or ' is not there')
  if not enter_final(id, queue, 'd', reason, 'unmet') then return false end
  f.is_unmet = true
  put_edges(id, f)
  change_flow(id, f)
  return true
end
-- Where a child is once its parents are known: released, ended as unmet, or awaiting.
local function place_child(id, queue, f, parent, letter)
  local is_met, is_unmet = verdict_on(f)
  if not is_met and (not is_unmet or f.unless == 'k') then return 'awaiting' end
  if not is_met and f.unless == 'd' and enter_as_unmet(id, queue, f, parent, letter) then return 'unmet' end
  enter_after_release(id, queue, f)
  return 'released'
end

-- How a job or a group has ended: s, f or d; empty when it has not; missing when there is none. One that is in quarantine
-- has failed. `besides`: jobs that this step stores, which have not ended.
local function end_of(id, besides)
  local name = group_in(id)
  if name then
    local g = group_of(name)
    return g and end_of_group(g) or not g and 'missing' or ''
  end
  if besides[id] then return '' end
  local record = call('HGET', jobs, id)
  if not record then return call('HEXISTS', quarantine, id) == 1 and 'f' or 'missing' end
  local queue = queue_of(record)
  for _, kind in ipairs(queue and final_kinds or {}) do
    if call('ZSCORE', line(kind, queue), id) then return sub(kind, 1, 1) end
  end
  return ''
end
-- A job leaves the line of those that await, if it is in it and enough is known; answers where it is then, as
-- place_child does, and nothing when it did not await.
local function place_awaiting(id, f, parent, letter, ended)
  local record = call('HGET', jobs, id)
  local queue = record and queue_of(record)
  if not queue or flow_moved[id] or not call('ZSCORE', line('awaiting', queue), id) then return nil end
  local where = place_child(id, queue, f, parent, letter)
  if where == 'awaiting' then return where end
  flow_moved[id] = true
  add_one(flow_plan.leaving, sorted(line('awaiting', queue)), id)
  if where == 'unmet' then ended[#ended + 1] = {id, 'd'} end
  return where
end
-- A parent has ended so, for this child.
local function resolve(parent, id, letter, ended)
  local f = flow_of(id)
  local is_waiting = false
  for _, one in ipairs(f and f.parents or {}) do
    if one.id == parent and one.state == '0' then
      one.state, is_waiting = string.find(f.on, letter, 1, true) and '1' or '2', true
    end
  end
  add_two(flow_plan.edges, after_parent(parent), f and f.is_unmet and '2' or '1', id)
  if not is_waiting then return end
  change_flow(id, f)
  place_awaiting(id, f, parent, letter, ended)
end
local function left_to_resolve() return math.max(0, max_resolved - resolved.n) end

-- What an end does but for those that wait for it.
local function let_go(id, f, letter, ended)
  if f.parents and not (f.is_unmet and letter == 'd') then
    for _, parent in ipairs(f.parents) do
      if is_there(parent) then add_one(flow_plan.dropped, after_parent(parent.id), id) end
    end
    resolved.n = resolved.n + #f.parents - 1
    f.parents = nil
    change_flow(id, f)
  end
  free_key(id, f)
  stop_clock(id, f)
  count_end(id, f, letter, ended)
end
-- Whether this step has planned a child that waits for the end, which cannot be told of it yet.
local function has_new_child(id, letter)
  local list = flow_plan.edges.of[after(id)] or {}
  for i = 2, #list, 2 do
    local f = flow_of(list[i])
    for _, parent in ipairs(f and f.parents or {}) do
      if parent.id == id and parent.state == '0' and (letter ~= 'e' or f.on == 'e') then return true end
    end
  end
  return false
end
-- Jobs that end in this step: each its id and how, s, f or d; and groups, of which e tells the first failure. Before
-- keep_totals, and before the first write.
local function plan_ends(ended)
  look_at_agenda()
  local ids, next_one = {}, 1
  for i, one in ipairs(ended) do ids[i] = one[1] end
  read_flows(ids)
  while next_one <= #ended do
    local id, letter = ended[next_one][1], ended[next_one][2]
    next_one = next_one + 1
    local f, member = flow_of(id), 'edges ' .. letter .. ' ' .. id
    if f then
      if letter ~= 'e' then let_go(id, f, letter, ended) end
      owes_no_more(member)
    end
    if f and f.has_children then
      local left = left_to_resolve()
      local first, last = '-inf', 0
      if letter == 'e' then first, last = -1, -1 end
      local children = call('ZRANGE', after_parent(id), first, last, 'BYSCORE', 'LIMIT', 0, left + 1)
      read_flows(children)
      for i, child in ipairs(children) do
        if i > left or resolved.n >= max_resolved then
          owes(member)
          break
        end
        resolved.n = resolved.n + 1
        resolve(id, child, letter, ended)
      end
      if has_new_child(id, letter) then owes(member) end
    end
  end
end

-- Leaves what it had of its group, its key and its times; who waits for it stays.
local function reduce_row(id, f)
  if f.group then add_one(flow_plan.dropped, sorted(members(f.group)), id) end
  f.group, f.key, f.clock, f.parents = nil, nil, nil, nil
  change_flow(id, f)
end
-- Of jobs in quarantine nothing is left but who waits for them: their ids may come again.
local function reduce_quarantined(ended)
  for _, one in ipairs(ended) do
    local f = flow_of(one[1])
    if f and not group_in(one[1]) and call('HEXISTS', jobs, one[1]) == 0 then reduce_row(one[1], f) end
  end
end

-- Whether a group that a child awaited is open again, by one of its members.
local function goes_on(parent, on)
  local g = group_in(parent) and group_of(group_in(parent))
  return g and end_of_group(g) == '' and not (on == 'e' and g.f > 0)
end
-- One that was deleted as unmet is among the children of each parent that is there: where it is not, that parent was
-- removed without telling it (see forget_flow), and another came under its id.
local function forget_other_lives(id, f)
  for _, parent in ipairs(f.parents) do
    local knows_it = is_there(parent) and call('ZSCORE', after_parent(parent.id), id)
    if parent.state ~= '0' and parent.state < '3' and not knows_it then
      parent.state = parent.state == '1' and '3' or '4'
    end
  end
end
-- A child of one that runs again, which was deleted as unmet. It awaits the groups of that one, too.
local function await_again(id, child, again)
  local f = flow_of(child)
  local record = f and f.is_unmet and f.parents and call('HGET', jobs, child)
  local queue = record and queue_of(record)
  if queue then forget_other_lives(child, f) end
  for _, one in ipairs(queue and f.parents or {}) do
    if one.state < '3' and (one.id == id or goes_on(one.id, f.on)) then one.state = '0' end
  end
  if not queue then
    local score = '1'
    for _, one in ipairs(f and f.parents or {}) do
      if one.id == id and not f.is_unmet then score = edge_score(f, one) end  -- it came back for another of its parents
    end
    return add_two(flow_plan.edges, after_parent(id), score, child)
  end
  local _, is_unmet = verdict_on(f)
  local comes_back = not is_unmet and not (f.group and is_cancelled(f.group)) and
                     call('ZSCORE', line('deleted', queue), child) and not key_taken_by(child, f)
  if comes_back then
    f.is_unmet = false
    take_back_end(child)
    count_again(child, f, again)
    finish_clock_again(child, f)
    add_one(flow_plan.leaving, sorted(line('deleted', queue)), child)
    add_two(flow_plan.entering, sorted(line('awaiting', queue)), int_text(draw(1)), child)
    local p = read_history(call('HGET', history, child)) or read_history(nil)
    p.reason = ''
    local histories = flow_plan.histories
    histories[#histories + 1], histories[#histories + 2] = child, write_history(p)
  end
  put_edges(child, f)
  change_flow(child, f)
end
-- Final jobs are to run again: those of their children that were deleted as unmet await them again. A step that does this
-- resolves nothing.
local function plan_again(again)
  look_at_agenda()
  local next_one = 1
  while next_one <= #again do
    local id = again[next_one]
    local f, member = flow_of(id), 'again - ' .. id
    next_one = next_one + 1
    owes_no_more(member)
    if f and f.has_children then
      local left = left_to_resolve()
      for i, child in ipairs(call('ZRANGE', after_parent(id), 2, 2, 'BYSCORE', 'LIMIT', 0, left + 1)) do
        if i > left or resolved.n >= max_resolved then
          owes(member)
          break
        end
        resolved.n = resolved.n + 1
        await_again(id, child, again)
      end
    end
  end
end
-- The same of what an earlier step owed. The job may have ended by now: for these, too.
local function go_on_again(id)
  plan_again({id})
  local letter = end_of(id, {})
  if #letter == 1 then owes('edges ' .. letter .. ' ' .. id) end
end
-- A person has it run. Answers why that cannot be, and plans nothing then: unique, and who has its key; cancelled, and
-- its group.
local function plan_requeue(id, was_final)
  look_at_agenda()
  local f, again = flow_of(id), {}
  if f and f.group and f.counted ~= '-' and is_cancelled(f.group) then return 'cancelled ' .. f.group end
  local taken_by = f and was_final and key_taken_by(id, f)
  if taken_by then return 'unique ' .. taken_by end
  take_back_end(id)
  again[1] = id
  if f then
    count_again(id, f, again)
    begin_clock_again(id, f)
    if f.parents and f.is_unmet then
      forget_other_lives(id, f)
      f.is_unmet = false
      put_edges(id, f)
      change_flow(id, f)
    end
  end
  plan_again(again)
end

-- Whether a job that waits must end in place of its start; plans that then, see plan_ends.
local function must_not_start(id, p, ended)
  local f = flow_of(id)
  if not f then return false end
  if flow_moved[id] then return true end  -- it was met before
  if f.group and is_cancelled(f.group) then
    return end_waiting(id, 'd', 'its group ' .. f.group .. ' was cancelled', 'cancelled', ended)
  end
  local letter, reason, cause = over_for(f, has_begun(p))
  return letter and end_waiting(id, letter, reason, cause, ended) or false
end
-- Jobs start: a key that is held until then comes free.
local function plan_starts(ids)
  for _, id in ipairs(ids) do
    local f = flow_of(id)
    if f and f.point == 's' then free_key(id, f) end
  end
end
-- Of those of some jobs that must be over by an instant, the place of each and how long that is.
local function times_left(ids)
  local told = {}
  for i, id in ipairs(ids) do
    local f = flow_of(id)
    if f and f.clock and f.clock.finish_by > 0 then
      told[#told + 1] = ' ' .. i .. ' ' .. int_text(math.max(1, f.clock.finish_by - now))
    end
  end
  return table.concat(told)
end
-- Why a job that would go on at this instant has failed: it was to be over before. Nothing when it may.
local function is_too_late(id, at)
  local f = flow_of(id)
  if not (f and f.clock and f.clock.finish_by > 0 and at >= f.clock.finish_by) then return nil end
  if now >= f.clock.finish_by then return 'failed: it was not over within ' .. in_words(f.clock.finish_within) end
  return 'failed: a retry would begin later than ' .. in_words(f.clock.finish_within) .. ' after its enqueue'
end
-- A job goes on behind a start. `never_begun`: no start of it has counted as a run. `begun`: one has, or was lost.
local function plan_going_on(id, never_begun, begun)
  local f = flow_of(id)
  if not f then return end
  if never_begun then take_key_again(id, f) end
  watch_clock(id, f, begun)
end

-- Of a final job or a finished group: no child that is not final waits for it or may ask for its result.
local function may_be_forgotten(id)
  local f = flow_of(id)
  return not f or not f.has_children or call('ZCOUNT', after(id), '-inf', 1) == 0
end
local function forget_flow(ids)
  local gone, is_gone, named, rows = {}, {}, {}, {}
  for _, id in ipairs(ids) do
    local f = flow_of(id)
    if f then
      gone[#gone + 1], is_gone[id] = id, true
      if f.group then sorted(members(f.group)) end
      for _, parent in ipairs(f.parents or {}) do
        if is_there(parent) then
          after_parent(parent.id)
          named[#named + 1] = {parent.id, id}
        end
      end
    end
  end
  -- To those that were deleted as unmet, up to so many, it is not there any more: another may come under its id.
  local left = max_resolved
  for _, id in ipairs(gone) do
    for _, child in ipairs(flow_of(id).has_children and left > 0 and call('ZRANGE', after_parent(id), 0, left - 1) or {}) do
      local its = not is_gone[child] and flow_of(child)
      left = left - 1
      for _, parent in ipairs(its and its.parents or {}) do
        if parent.id == id and (parent.state == '1' or parent.state == '2') then
          parent.state = parent.state == '1' and '3' or '4'
          rows[child] = its
        end
      end
    end
  end
  for child, its in pairs(rows) do call('HSET', flow, child, write_flow(its)) end
  for _, id in ipairs(gone) do
    call('DEL', after(id))
    if flow_of(id).group then call('ZREM', members(flow_of(id).group), id) end
  end
  for _, one in ipairs(named) do
    local parent, id = one[1], one[2]
    local its = flow_of(parent)
    call('ZREM', after(parent), id)
    if not is_gone[parent] and its.has_children and call('EXISTS', after(parent)) == 0 then
      its.has_children = false
      local row = write_flow(its)
      if row then call('HSET', flow, parent, row) else gone[#gone + 1] = parent end
    end
  end
  many('HDEL', flow, gone)
  for _, id in ipairs(gone) do flow_rows[id] = false end
  if call('EXISTS', agenda) == 1 then  -- which may tell of some that have no row any more
    local owed = {}
    for _, list in ipairs({ids, gone}) do
      for _, id in ipairs(list) do
        for _, word in ipairs({'edges s ', 'edges f ', 'edges d ', 'edges e ', 'again - ', 'expire - '}) do
          owed[#owed + 1] = word .. id
        end
      end
    end
    many('ZREM', agenda, owed)
  end
  if #gone > 0 and call('HLEN', flow) == 0 and call('EXISTS', agenda) == 0 then call('DEL', flow_mark) end
end

-- Writes all that was planned.
local function carry_out_ends()
  local plan = {}
  for what, its in pairs(flow_plan) do plan[what] = its end
  begin_flow_plan()
  first_of_agenda = nil
  each_list(plan.staying, 'ZADD')
  each_list(plan.leaving, 'ZREM')
  many('HSET', history, plan.histories)
  many('HSET', runs, plan.runs)
  each_list(plan.entering, 'ZADD')
  for queue, instant in pairs(plan.due) do call('ZADD', due, 'LT', int_text(instant), queue) end
  for queue in pairs(plan.refresh) do refresh_due(queue) end
  each_list(plan.edges, 'ZADD')
  each_list(plan.dropped, 'ZREM')
  for _, key in ipairs(plan.dropped.order) do
    local parent = sub(key, 1, #after('')) == after('') and sub(key, #after('') + 1)
    local f = parent and flow_of(parent)
    if f and f.has_children and call('EXISTS', key) == 0 then
      f.has_children = false
      change_flow(parent, f)
    end
  end
  local function write_rows(key, changed, rows_by, write)
    local rows, gone = {}, {}
    for id in pairs(changed) do
      local row = rows_by[id] and write(rows_by[id])
      if row then rows[#rows + 1], rows[#rows + 2] = id, row
      else rows_by[id], gone[#gone + 1] = false, id end
      changed[id] = nil
    end
    many('HSET', key, rows)
    many('HDEL', key, gone)
    return #rows > 0
  end
  local is_used = write_rows(flow, flow_changed, flow_rows, write_flow)
  write_rows(held_keys, keys_changed, key_rows, write_key)
  is_used = write_rows(group_counts, groups_changed, group_rows, write_group) or is_used
  local owed, over = {}, {}
  for member, instant in pairs(plan.owed) do
    if instant then owed[#owed + 1], owed[#owed + 2] = int_text(instant), member else over[#over + 1] = member end
  end
  many('ZADD', agenda, owed)
  many('ZREM', agenda, over)
  if is_used or #owed > 0 then
    call('SET', flow_mark, '1')
    has_flow = '1'  -- for what this step does yet
  end
  for _, name in ipairs(groups_gone) do
    call('HDEL', group_counts, name)
    forget_flow({node_of(name)})
  end
  groups_gone = {}
  -- None of them is given what another of them had.
  for id, a in pairs(admissions_of(plan.forgotten)) do
    if a.at ~= '' then remove_waiter(a.at, id) end
  end
  for _, id in ipairs(plan.forgotten) do forget_job(id) end
  if call('HLEN', flow) == 0 and call('EXISTS', agenda) == 0 then call('DEL', flow_mark) end
end
-- Runs of these were parked: their starts were none.
local function tell_of_parked(ids)
  for _, id in ipairs(ids) do
    local p = read_history(call('HGET', history, id))
    plan_going_on(id, not p or p.attempt == 0, p and has_begun(p))
  end
  carry_out_ends()
end
