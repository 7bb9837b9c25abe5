-- Jobs that run after others: a child names parents, jobs or groups, and is awaiting until enough of them have ended as
-- it wants. Every way in which a job ends for good comes here (plan_ends), in the step that ends it; it alone lets go
-- of the job's key, counts in its group and tells those that wait.
--
-- `after(PARENT)` has the parent's children: 0 while its end is open to them, or -1 where they wait for the first
-- failure of a group, then 1, and 2 for those that were deleted as unmet. They leave it when they are final in another
-- way. Invariants: a parent stays stored while a child of it that is not final may ask for its result. Who is awaiting
-- has a row. A step resolves at most about max_resolved ends of parents; what it still owes stands in `agenda`, and
-- promote goes on with it. The next requeue of a parent takes back an end that is owed: the children that it did not
-- come to await the next.
local int_text, sorted = base.int_text, base.sorted
local after, members = keys.after, keys.members
local add_one, add_two, each_list, many = lists.add_one, lists.add_two, lists.each_list, lists.many
local queue_of, read_history = values.queue_of, values.read_history
local line = places.line
local change_flow, flow_of, look_at_agenda, owes, write_flow = flow.change_flow, flow.flow_of, flow.look_at_agenda,
  flow.owes, flow.write_flow
local group_in, is_cancelled = groups.group_in, groups.is_cancelled
local max_resolved = 80
function fresh.resolved() return {n = 0} end

-- Whether enough have ended as it wants, and whether too many have not.
function continuations.verdict_on(f)
  if f.unless == 'u' then return false, false end
  local met, unmet = 0, 0
  for _, parent in ipairs(f.parents) do
    local state = parent.state
    if state == '1' or state == '3' then met = met + 1 elseif state ~= '0' then unmet = unmet + 1 end
  end
  return met >= f.need, unmet > #f.parents - f.need
end

-- Not of one that was never there, or has been forgotten: what is stored under its id by now is another job.
local function is_there(step, parent)
  local its = parent.state < '3' and flow_of(step, parent.id)
  return its and its.has_children
end
function continuations.after_parent(step, id) return sorted(step, after(step, id)) end
function continuations.enter_after_release(step, id, queue, f)
  if f.delay > 0 then
    changes.schedule(step, queue, step.now + f.delay, id)
  else
    changes.enter(step, line(step, 'ready', queue), int_text(numbers.draw(step, 1)), id)
    hints.has_work(step, queue)
  end
  clocks.start_clock(step, id, f, step.now + f.delay)
end
-- How a child stands in the line of a parent whose end is open to it, or not.
function continuations.edge_score(f, parent)
  if parent.state == '0' then return f.on == 'e' and '-1' or '0' end
  return f.is_unmet and '2' or '1'
end
local function put_edge(step, parent, id, score)
  add_two(step.changes.edges, continuations.after_parent(step, parent), score, id)
end
-- Its place among the children of each of its parents.
function continuations.put_edges(step, id, f)
  for _, parent in ipairs(f.parents) do
    if is_there(step, parent) then
      put_edge(step, parent.id, id, continuations.edge_score(f, parent))
    end
  end
  step.resolved.n = step.resolved.n + #f.parents - 1
end
-- It ends as deleted since a parent of it did not end as it wants.
local function enter_as_unmet(step, id, queue, f, parent, letter)
  local group = group_in(parent)
  local reason = (group and 'its group ' .. group or 'its parent ' .. parent) ..
                 (groups.words_of_ends[letter] and ' ended as ' .. groups.words_of_ends[letter] or
                  ' is not there')
  if not early_ends.enter_final(step, id, queue, 'd', reason, 'unmet') then return false end
  f.is_unmet = true
  continuations.put_edges(step, id, f)
  change_flow(step, id, f)
  return true
end
-- Where a child is once its parents are known: released, ended as unmet, or awaiting.
function continuations.place_child(step, id, queue, f, parent, letter)
  local is_met, is_unmet = continuations.verdict_on(f)
  if not is_met and (not is_unmet or f.unless == 'k') then return 'awaiting' end
  if not is_met and f.unless == 'd' and enter_as_unmet(step, id, queue, f, parent, letter) then return 'unmet' end
  continuations.enter_after_release(step, id, queue, f)
  return 'released'
end

-- How a job or a group has ended: s, f or d; empty when it has not; missing when there is none. One that is in
-- quarantine has failed. `besides`: jobs that this step stores, which have not ended.
function continuations.end_of(step, id, besides)
  local name = group_in(id)
  if name then
    local g = groups.group_of(step, name)
    return g and groups.end_of_group(g) or not g and 'missing' or ''
  end
  if besides[id] then return '' end
  local record = call('HGET', step.keys.jobs, id)
  if not record then return call('HEXISTS', step.keys.quarantine, id) == 1 and 'f' or 'missing' end
  local queue = queue_of(record)
  for _, kind in ipairs(queue and places.final_kinds or {}) do
    if call('ZSCORE', line(step, kind, queue), id) then return sub(kind, 1, 1) end
  end
  return ''
end
-- A job leaves the line of those that await, if it is in it and enough is known; answers where it is then, as
-- place_child does, and nothing when it did not await.
function continuations.place_awaiting(step, id, f, parent, letter)
  local record = call('HGET', step.keys.jobs, id)
  local queue = record and queue_of(record)
  if not queue or step.changes.moved[id] or not call('ZSCORE', line(step, 'awaiting', queue), id) then return nil end
  local where = continuations.place_child(step, id, queue, f, parent, letter)
  if where == 'awaiting' then return where end
  step.changes.moved[id] = true
  changes.leave(step, line(step, 'awaiting', queue), id)
  if where == 'unmet' then changes.end_for_good(step, id, 'd') end
  return where
end
-- A parent has ended so, for this child.
local function resolve(step, parent, id, letter)
  local f = flow_of(step, id)
  local is_waiting = false
  for _, one in ipairs(f and f.parents or {}) do
    if one.id == parent and one.state == '0' then
      one.state, is_waiting = string.find(f.on, letter, 1, true) and '1' or '2', true
    end
  end
  put_edge(step, parent, id, f and f.is_unmet and '2' or '1')
  if not is_waiting then return end
  change_flow(step, id, f)
  continuations.place_awaiting(step, id, f, parent, letter)
end
local function left_to_resolve(step) return math.max(0, max_resolved - step.resolved.n) end

-- What an end does but for those that wait for it.
function continuations.let_go(step, id, f, letter)
  if f.parents and not (f.is_unmet and letter == 'd') then
    for _, parent in ipairs(f.parents) do
      if is_there(step, parent) then
        add_one(step.changes.dropped, continuations.after_parent(step, parent.id), id)
      end
    end
    step.resolved.n = step.resolved.n + #f.parents - 1
    f.parents = nil
    change_flow(step, id, f)
  end
  unique_keys.free_key(step, id, f)
  clocks.stop_clock(step, id, f)
  groups.count_end(step, id, f, letter)
end
-- Whether this step has planned a child that waits for the end, which cannot be told of it yet.
local function has_new_child(step, id, letter)
  local list = step.changes.edges[after(step, id)] or {}
  for i = 2, #list, 2 do
    local f = flow_of(step, list[i])
    for _, parent in ipairs(f and f.parents or {}) do
      if parent.id == id and parent.state == '0' and (letter ~= 'e' or f.on == 'e') then return true end
    end
  end
  return false
end
-- A parent has ended: for as many of its children as this step may tell, it is resolved.
local function tell_children(step, id, letter, member)
  local left = left_to_resolve(step)
  local first, last = '-inf', 0
  if letter == 'e' then first, last = -1, -1 end
  local children = call('ZRANGE', continuations.after_parent(step, id), first, last, 'BYSCORE', 'LIMIT', 0, left + 1)
  flow.read_flows(step, children)
  for i, child in ipairs(children) do
    if i > left or step.resolved.n >= max_resolved then
      owes(step, member)
      break
    end
    step.resolved.n = step.resolved.n + 1
    resolve(step, id, child, letter)
  end
  if has_new_child(step, id, letter) then owes(step, member) end
end
-- What follows of the jobs that end in this step, and groups, of which e tells the first failure: all that `ended` of
-- its changes has by now, and what comes of that.
function continuations.plan_ends(step)
  local c = step.changes
  if not c.ended[c.next_end] then return end
  look_at_agenda(step)
  local ids = {}
  for i = c.next_end, #c.ended do ids[#ids + 1] = c.ended[i][1] end
  flow.read_flows(step, ids)
  while c.ended[c.next_end] do
    local id, letter = c.ended[c.next_end][1], c.ended[c.next_end][2]
    c.next_end = c.next_end + 1
    local f, member = flow_of(step, id), 'edges ' .. letter .. ' ' .. id
    if f then
      if letter ~= 'e' then continuations.let_go(step, id, f, letter) end
      flow.owes_no_more(step, member)
    end
    if f and f.has_children then tell_children(step, id, letter, member) end
  end
end

-- Leaves what it had of its group, its key and its times; who waits for it stays.
function continuations.reduce_row(step, id, f)
  if f.group then add_one(step.changes.dropped, sorted(step, members(step, f.group)), id) end
  f.group, f.key, f.clock, f.parents = nil, nil, nil, nil
  change_flow(step, id, f)
end
-- Of jobs in quarantine, behind their end, nothing is left but who waits for them: their ids may come again.
function continuations.reduce_quarantined(step)
  for _, one in ipairs(step.changes.ended) do
    local f = flow_of(step, one[1])
    if f and not group_in(one[1]) and call('HEXISTS', step.keys.jobs, one[1]) == 0 then
      continuations.reduce_row(step, one[1], f)
    end
  end
end

-- Whether a group that a child awaited is open again, by one of its members.
local function goes_on(step, parent, on)
  local g = group_in(parent) and groups.group_of(step, group_in(parent))
  return g and groups.end_of_group(g) == '' and not (on == 'e' and g.f > 0)
end
-- One that was deleted as unmet is among the children of each parent that is there: where it is not, that parent was
-- removed without telling it (see forget_flow), and another came under its id.
local function forget_other_lives(step, id, f)
  for _, parent in ipairs(f.parents) do
    local knows_it = is_there(step, parent) and call('ZSCORE', continuations.after_parent(step, parent.id), id)
    if parent.state ~= '0' and parent.state < '3' and not knows_it then
      parent.state = parent.state == '1' and '3' or '4'
    end
  end
end
-- A child of one that runs again, which was deleted as unmet. It awaits the groups of that one, too.
local function await_again(step, id, child, again)
  local f = flow_of(step, child)
  local record = f and f.is_unmet and f.parents and call('HGET', step.keys.jobs, child)
  local queue = record and queue_of(record)
  if queue then forget_other_lives(step, child, f) end
  for _, one in ipairs(queue and f.parents or {}) do
    if one.state < '3' and (one.id == id or goes_on(step, one.id, f.on)) then one.state = '0' end
  end
  if not queue then
    local score = '1'
    for _, one in ipairs(f and f.parents or {}) do
      -- it came back for another of its parents
      if one.id == id and not f.is_unmet then score = continuations.edge_score(f, one) end
    end
    return put_edge(step, id, child, score)
  end
  local _, is_unmet = continuations.verdict_on(f)
  local comes_back = not is_unmet and not (f.group and is_cancelled(step, f.group)) and
                     call('ZSCORE', line(step, 'deleted', queue), child) and
                       not unique_keys.key_taken_by(step, child, f)
  if comes_back then
    f.is_unmet = false
    flow.take_back_end(step, child)
    groups.count_again(step, child, f, again)
    clocks.finish_clock_again(step, child, f)
    changes.leave(step, line(step, 'deleted', queue), child)
    changes.enter(step, line(step, 'awaiting', queue), int_text(numbers.draw(step, 1)), child)
    local p = read_history(call('HGET', step.keys.history, child)) or read_history(nil)
    p.reason = ''
    changes.set_history(step, child, p)
  end
  continuations.put_edges(step, child, f)
  change_flow(step, child, f)
end
-- Final jobs are to run again: those of their children that were deleted as unmet await them again. A step that does
-- this resolves nothing.
local function plan_again(step, again)
  look_at_agenda(step)
  local next_one = 1
  while next_one <= #again do
    local id = again[next_one]
    local f, member = flow_of(step, id), 'again - ' .. id
    next_one = next_one + 1
    flow.owes_no_more(step, member)
    if f and f.has_children then
      local left = left_to_resolve(step)
      for i, child in ipairs(call('ZRANGE', continuations.after_parent(step, id), 2, 2, 'BYSCORE', 'LIMIT', 0,
                                        left + 1)) do
        if i > left or step.resolved.n >= max_resolved then
          owes(step, member)
          break
        end
        step.resolved.n = step.resolved.n + 1
        await_again(step, id, child, again)
      end
    end
  end
end
-- The same of what an earlier step owed. The job may have ended by now: for these, too.
function continuations.go_on_again(step, id)
  plan_again(step, {id})
  local letter = continuations.end_of(step, id, {})
  if #letter == 1 then owes(step, 'edges ' .. letter .. ' ' .. id) end
end
-- A person has it run. Answers why that cannot be, and plans nothing then: unique, and who has its key; cancelled, and
-- its group.
function continuations.plan_requeue(step, id, was_final)
  look_at_agenda(step)
  local f, again = flow_of(step, id), {}
  if f and f.group and f.counted ~= '-' and is_cancelled(step, f.group) then return 'cancelled ' .. f.group end
  local taken_by = f and was_final and unique_keys.key_taken_by(step, id, f)
  if taken_by then return 'unique ' .. taken_by end
  flow.take_back_end(step, id)
  again[1] = id
  if f then
    groups.count_again(step, id, f, again)
    clocks.begin_clock_again(step, id, f)
    if f.parents and f.is_unmet then
      forget_other_lives(step, id, f)
      f.is_unmet = false
      continuations.put_edges(step, id, f)
      change_flow(step, id, f)
    end
  end
  plan_again(step, again)
end

-- Whether a job that waits must end in place of its start; plans that then, see plan_ends.
function continuations.must_not_start(step, id, p)
  local f = flow_of(step, id)
  if not f then return false end
  if step.changes.moved[id] then return true end  -- it was met before
  if f.group and is_cancelled(step, f.group) then
    return early_ends.end_waiting(step, id, 'd', 'its group ' .. f.group .. ' was cancelled', 'cancelled')
  end
  local letter, reason, cause = clocks.over_for(step, f, clocks.has_begun(p))
  return letter and early_ends.end_waiting(step, id, letter, reason, cause) or false
end
-- Jobs start: a key that is held until then comes free.
function continuations.plan_starts(step, ids)
  for _, id in ipairs(ids) do
    local f = flow_of(step, id)
    if f and f.point == 's' then unique_keys.free_key(step, id, f) end
  end
end
-- Of those of some jobs that must be over by an instant, the place of each and how long that is.
function continuations.times_left(step, ids)
  local told = {}
  for i, id in ipairs(ids) do
    local f = flow_of(step, id)
    if f and f.clock and f.clock.finish_by > 0 then
      told[#told + 1] = ' ' .. i .. ' ' .. int_text(math.max(1, f.clock.finish_by - step.now))
    end
  end
  return table.concat(told)
end
-- Why a job that would go on at this instant has failed: it was to be over before. Nothing when it may.
function continuations.is_too_late(step, id, at)
  local f = flow_of(step, id)
  if not (f and f.clock and f.clock.finish_by > 0 and at >= f.clock.finish_by) then return nil end
  if step.now >= f.clock.finish_by then
    return 'failed: it was not over within ' .. clocks.in_words(f.clock.finish_within)
  end
  return 'failed: a retry would begin later than ' .. clocks.in_words(f.clock.finish_within) .. ' after its enqueue'
end
-- A job goes on behind a start. `never_begun`: no start of it has counted as a run. `begun`: one has, or was lost.
function continuations.plan_going_on(step, id, never_begun, begun)
  local f = flow_of(step, id)
  if not f then return end
  if never_begun then unique_keys.take_key_again(step, id, f) end
  clocks.watch_clock(step, id, f, begun)
end

-- Of a final job or a finished group: no child that is not final waits for it or may ask for its result.
function continuations.may_be_forgotten(step, id)
  local f = flow_of(step, id)
  return not f or not f.has_children or call('ZCOUNT', after(step, id), '-inf', 1) == 0
end
function continuations.forget_flow(step, ids)
  local gone, is_gone, named, rows = {}, {}, {}, {}
  for _, id in ipairs(ids) do
    local f = flow_of(step, id)
    if f then
      gone[#gone + 1], is_gone[id] = id, true
      if f.group then sorted(step, members(step, f.group)) end
      for _, parent in ipairs(f.parents or {}) do
        if is_there(step, parent) then
          continuations.after_parent(step, parent.id)
          named[#named + 1] = {parent.id, id}
        end
      end
    end
  end
  -- To those that were deleted as unmet, up to so many, it is not there any more: another may come under its id.
  local left = max_resolved
  for _, id in ipairs(gone) do
    for _, child in ipairs(flow_of(step, id).has_children and left > 0 and
                           call('ZRANGE', continuations.after_parent(step, id), 0, left - 1) or {}) do
      local its = not is_gone[child] and flow_of(step, child)
      left = left - 1
      for _, parent in ipairs(its and its.parents or {}) do
        if parent.id == id and (parent.state == '1' or parent.state == '2') then
          parent.state = parent.state == '1' and '3' or '4'
          rows[child] = its
        end
      end
    end
  end
  for child, its in pairs(rows) do call('HSET', step.keys.flow, child, write_flow(its)) end
  for _, id in ipairs(gone) do
    call('DEL', after(step, id))
    if flow_of(step, id).group then call('ZREM', members(step, flow_of(step, id).group), id) end
  end
  for _, one in ipairs(named) do
    local parent, id = one[1], one[2]
    local its = flow_of(step, parent)
    call('ZREM', after(step, parent), id)
    if not is_gone[parent] and its.has_children and call('EXISTS', after(step, parent)) == 0 then
      its.has_children = false
      local row = write_flow(its)
      if row then call('HSET', step.keys.flow, parent, row) else gone[#gone + 1] = parent end
    end
  end
  many('HDEL', step.keys.flow, gone)
  for _, id in ipairs(gone) do step.flow_rows[id] = false end
  if call('EXISTS', step.keys.agenda) == 1 then  -- which may tell of some that have no row any more
    local owed = {}
    for _, list in ipairs({ids, gone}) do
      for _, id in ipairs(list) do
        for _, word in ipairs({'edges s ', 'edges f ', 'edges d ', 'edges e ', 'again - ', 'expire - '}) do
          owed[#owed + 1] = word .. id
        end
      end
    end
    many('ZREM', step.keys.agenda, owed)
  end
  if #gone > 0 and call('HLEN', step.keys.flow) == 0 and call('EXISTS', step.keys.agenda) == 0 then
    call('DEL', step.keys.flow_mark)
  end
end

-- Writes the rows that a step has changed, each as `write` says it, or takes away those of which nothing is left.
-- Answers whether any was written.
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
local function write_children(step, c)
  each_list(c.edges, 'ZADD')
  each_list(c.dropped, 'ZREM')
  local begins = after(step, '')
  for _, key in ipairs(c.dropped) do
    local parent = sub(key, 1, #begins) == begins and sub(key, #begins + 1)
    local f = parent and flow_of(step, parent)
    if f and f.has_children and call('EXISTS', key) == 0 then
      f.has_children = false
      change_flow(step, parent, f)
    end
  end
end
local function write_agenda(step, c)
  local owed, over = {}, {}
  for member, instant in pairs(c.owed) do
    if instant then owed[#owed + 1], owed[#owed + 2] = int_text(instant), member else over[#over + 1] = member end
  end
  many('ZADD', step.keys.agenda, owed)
  many('ZREM', step.keys.agenda, over)
  return #owed > 0
end
-- What jobs have to do with others, and with time; a part of changes.commit.
function continuations.write_flow(step, c)
  step.first_of_agenda = nil
  if #c.edges + #c.dropped + #c.groups_gone == 0 and
     not (next(step.flow_changed) or next(step.keys_changed) or next(step.groups_changed) or next(c.owed)) then
    return
  end
  write_children(step, c)
  local has_rows = write_rows(step.keys.flow, step.flow_changed, step.flow_rows, write_flow)
  write_rows(step.keys.held_keys, step.keys_changed, step.key_rows, unique_keys.write_key)
  local has_groups = write_rows(step.keys.group_counts, step.groups_changed, step.group_rows, groups.write_group)
  local owes_some = write_agenda(step, c)
  if has_rows or has_groups or owes_some then call('SET', step.keys.flow_mark, '1') end
  for _, name in ipairs(c.groups_gone) do
    call('HDEL', step.keys.group_counts, name)
    continuations.forget_flow(step, {groups.node_of(name)})
  end
  if call('HLEN', step.keys.flow) == 0 and call('EXISTS', step.keys.agenda) == 0 then
    call('DEL', step.keys.flow_mark)
  end
end
-- Runs of these were parked: their starts were none.
function continuations.tell_of_parked(step, ids)
  for _, id in ipairs(ids) do
    local p = read_history(call('HGET', step.keys.history, id))
    continuations.plan_going_on(step, id, not p or p.attempt == 0, p and clocks.has_begun(p))
  end
  changes.commit(step)
end
