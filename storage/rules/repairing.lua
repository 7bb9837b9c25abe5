-- How what the audit finds is mended (mending.lua).
local sorted = base.sorted
local after, members = keys.after, keys.members
local add_two = lists.add_two
local line = places.line
local has_work = hints.has_work
local change_flow, flow_of, owes, owes_at = flow.change_flow, flow.flow_of, flow.owes, flow.owes_at
local key_of = unique_keys.key_of
local group_kept, is_finished = groups.group_kept, groups.is_finished
local after_parent, end_of = continuations.after_parent, continuations.end_of
local stands_in_agenda = mending.stands_in_agenda
function fresh.lost_jobs() return {} end   -- of whom nothing is to be left
function fresh.last_writes() return {} end  -- writes that come last
local mends = {}
local scan_for = {queues = 'SSCAN', flow = 'HSCAN', held_keys = 'HSCAN', groups = 'HSCAN'}
local function row_of(step, id)
  return flow_of(step, id) or {has_children = call('EXISTS', after(step, id)) == 1}
end

function mends.mark(step) return 'it was set' end
function mends.owe(step, member)
  owes(step, member)
  return 'the next look at what is due goes on with it'
end
function mends.owe_no_more(step, member)
  step.changes.owed[member] = false
  return 'it was removed'
end
-- Who cannot be looked at too early is looked at in a day.
function mends.instant(step, member)
  local what = match(member, '^%l+')
  owes_at(step, member, (what == 'seal' or what == 'forget') and step.now + group_kept or 0)
  return 'it is looked at ' .. ((what == 'seal' or what == 'forget') and 'in a day' or 'at once')
end
function mends.due(step, queue)
  step.last_writes[#step.last_writes + 1] = function() places.refresh_due(step, queue) end
  has_work(step, '@')
  return 'it is listed as it should be'
end
function mends.leases(step, queue, first)
  step.last_writes[#step.last_writes + 1] = function() call('ZADD', step.keys.ending, first, queue) end
  has_work(step, '@')
  return 'they are looked at'
end

-- Jobs that a step left without a place. Who was running is lost when his lease is over, which it is at once; whoever
-- else waited, and may have ended, waits again.
function mends.unplaced(step, id)
  local queue, f, a = values.queue_of(call('HGET', step.keys.jobs, id)), flow_of(step, id),
    admissions.admission_of(step, id)
  local p = values.read_history(call('HGET', step.keys.history, id))
  local function enter(key, score) changes.enter(step, key, score, id) end
  step.last_writes[#step.last_writes + 1] = function() call('SADD', step.keys.queues, queue) end
  if call('HEXISTS', step.keys.runs, id) == 1 then
    enter(line(step, 'processing', queue), step.now_text)
    step.last_writes[#step.last_writes + 1] = function() call('ZADD', step.keys.ending, 'LT', step.now_text,
                                                                    queue) end
    has_work(step, '@')
    return 'its run counts as lost'
  end
  local arrival = a and a.at ~= '' and call('ZSCORE', keys.wait_line(step, queue, a.at), id)
  if arrival then
    enter(line(step, 'throttled', queue), arrival)
    return 'it waits for ' .. a.at
  end
  if f and f.parents and not f.is_unmet then
    enter(line(step, 'awaiting', queue), base.int_text(numbers.draw(step, 1)))
    return 'it awaits others'
  end
  enter(places.tail(step, queue, p and p.losses or 0), base.int_text(numbers.draw(step, 1)))
  has_work(step, queue)
  return 'it is ready'
end
-- Permits that nobody has.
function mends.permit(step, entry)
  local resource, at = values.text_at(entry, 1)
  local id = sub(entry, at)
  admissions.check_throttlers(step)
  step.last_writes[#step.last_writes + 1] = function()
    waiting.forget_job(step, id)
    if call('HEXISTS', keys.holders(step, resource), id) == 0 then return end
    call('ZREM', step.keys.reserved, admissions.reservation(resource, id))
    admissions.remove_entries(step, resource, {id})
    waiting.pass_on(step, resource)
  end
  return 'it was given back'
end
function mends.count(step, resource)
  admissions.check_throttlers(step)
  step.last_writes[#step.last_writes + 1] = function() waiting.count_anew(step) end
  return 'it was counted anew'
end

-- Rows. What cannot be read is made anew by the rules of whatever names the job: its group, its key and its parents.
function mends.row(step, id)
  local f = flow_of(step, id)
  change_flow(step, id, f or {has_children = call('EXISTS', after(step, id)) == 1})
  return f and 'it was written anew' or 'it was made anew by what others say of it'
end
function mends.no_children(step, id)
  if not step.changes.edges[after(step, id)] then
    local f = flow_of(step, id)
    f.has_children = false
    change_flow(step, id, f)
  end
  return 'it is said to have none'
end
function mends.children(step, parent)
  if end_of(step, parent, {}) == 'missing' then
    step.last_writes[#step.last_writes + 1] = function() call('DEL', after(step, parent)) end
    return 'there is no such job: they were removed from it'
  end
  local f = row_of(step, parent)
  f.has_children = true
  change_flow(step, parent, f)
  return 'it is said to have some'
end
function mends.edge(step, id, parent_id)
  local f, its = flow_of(step, id), row_of(step, parent_id)
  its.has_children = true
  change_flow(step, parent_id, its)
  for _, parent in ipairs(f.parents) do
    if parent.id == parent_id then
      add_two(step.changes.edges, after_parent(step, parent_id), continuations.edge_score(f, parent), id)
    end
  end
  return 'it is'
end

-- Children.
local function place(step, id, f)
  local where_it_is = {released = 'it was released', unmet = 'it was deleted', awaiting = 'it awaits others'}
  local unmet, letter = '', ''
  for _, parent in ipairs(f.parents) do
    if parent.state == '4' then unmet, letter = parent.id, 'missing'
    elseif parent.state == '2' then unmet, letter = parent.id, end_of(step, parent.id, {}) end
  end
  return where_it_is[continuations.place_awaiting(step, id, f, unmet, letter) or 'awaiting']
end
function mends.place(step, id)
  local f = row_of(step, id)
  if not f.parents then
    f.parents, f.need, f.delay = {}, 0, 0
    local where = place(step, id, f)
    f.parents = nil
    return where
  end
  if f.is_unmet then
    f.is_unmet = false
    continuations.put_edges(step, id, f)
    change_flow(step, id, f)
  end
  if f.unless == 'u' then  -- all that have it among their children have been looked at
    f.unless = 'k'
    change_flow(step, id, f)
  end
  return place(step, id, f)
end
function mends.child(step, parent_id, id)
  local f, its_end = row_of(step, id), end_of(step, parent_id, {})
  local record = call('HGET', step.keys.jobs, id)
  local queue = record and values.queue_of(record)
  local is_lost = queue and call('ZSCORE', line(step, 'awaiting', queue), id) and its_end ~= 'missing' and
                  (not f.parents or f.unless == 'u')
  if not is_lost then
    lists.add_one(step.changes.dropped, after_parent(step, parent_id), id)
    return 'it was taken from them'
  end
  -- What it wanted of its parents is lost with its row, so it is kept unless all of them succeed. None of them releases
  -- it before its line is looked at, when the others are found.
  f.parents = f.parents or {}
  f.parents[#f.parents + 1] = {id = parent_id, state = its_end == '' and '0' or its_end == 's' and '1' or '2'}
  f.need, f.delay, f.is_unmet, f.on, f.unless = #f.parents, 0, false, 's', 'u'
  change_flow(step, id, f)
  add_two(step.changes.edges, after_parent(step, parent_id), continuations.edge_score(f, f.parents[#f.parents]), id)
  return 'it awaits it again'
end

-- Groups.
-- As what its members and the agenda say. One that had not finished is not sealed, so that it does not finish before
-- all its members are known: who filled it seals it again, or it is cancelled in a day.
local function group_or_remade(step, name)
  local g = groups.group_of(step, name)
  if g then return g end
  local node = groups.node_of(name)
  local function count(score) return call('ZCOUNT', members(step, name), score, score) end
  local was_cancelled = stands_in_agenda(step, 'cancel', node) or count(4) > 0
  g = {state = was_cancelled and 'c' or stands_in_agenda(step, 'forget', node) and 's' or 'o',
       open = count(0) + count(4),
       s = count(1), f = count(2), d = count(3), created = step.now, ended = 0}
  groups.change_group(step, name, g)
  return g
end
-- Of a node that does not exist: nothing when it is no group, or nothing tells that there was one.
local function remade_if_group(step, node)
  local name = groups.group_in(node)
  local is_told = name and (call('EXISTS', members(step, name)) == 1 or
                            call('HEXISTS', step.keys.group_counts, name) == 1)
  for _, what in ipairs({'seal', 'cancel', 'forget'}) do
    is_told = is_told or name and stands_in_agenda(step, what, node)
  end
  return is_told and group_or_remade(step, name) and 'it was made anew from its members'
end
function mends.group(step, name)
  local was_there, node = groups.group_of(step, name), groups.node_of(name)
  local had_failed = was_there and was_there.f > 0
  local g = group_or_remade(step, name)
  local function count(score) return call('ZCOUNT', members(step, name), score, score) end
  g.open = count(0) + count(4)
  g.s, g.f, g.d = math.max(g.s, count(1)), math.max(g.f, count(2)), math.max(g.d, count(3))
  groups.change_group(step, name, g)
  if g.f > 0 and not had_failed then changes.end_for_good(step, node, 'e') end
  if is_finished(g) and g.ended == 0 then groups.finish_group(step, name, g)
  elseif is_finished(g) and not stands_in_agenda(step, 'forget', node) then owes_at(step, 'forget - ' .. node,
                                                                                    step.now + group_kept)
  elseif not is_finished(g) and g.ended > 0 then
    g.ended = 0
    flow.owes_no_more(step, 'forget - ' .. node)
    flow.take_back_end(step, node)
  end
  if g.state == 'o' and not stands_in_agenda(step, 'seal', node) then
    owes_at(step, 'seal - ' .. node, step.now + group_kept)
  end
  if g.state == 'c' and count(0) > 0 then owes(step, 'cancel - ' .. node) end
  return was_there and 'it was made to agree with its members' or 'it was made anew from its members'
end
function mends.member(step, id)
  local f, how = flow_of(step, id), end_of(step, id, {})
  local g, score = group_or_remade(step, f.group), call('ZSCORE', members(step, f.group), id)
  if how == '' and f.counted ~= '-' then
    local again = {}
    if score == groups.member_scores[f.counted] and g[f.counted] > 0 then groups.count_again(step, id, f, again) end
    for _, one in ipairs(again) do owes(step, 'again - ' .. one) end
    f.counted = '-'
    change_flow(step, id, f)
  elseif how ~= '' and how ~= 'missing' and f.counted == '-' then owes(step, 'edges ' .. how .. ' ' .. id) end
  groups.put_member(step, f.group, id, f.counted == '-' and (score == '4' and '4' or '0') or
                    groups.member_scores[f.counted])
  return how == '' and 'it counts as open' or 'it counts as it ended'
end
function mends.membership(step, name, id)
  local f, letters = row_of(step, id), {['1'] = 's', ['2'] = 'f', ['3'] = 'd'}
  if end_of(step, id, {}) == 'missing' or f.group then
    lists.add_one(step.changes.dropped, sorted(step, members(step, name)), id)
    return 'it was taken from them'
  end
  f.group, f.counted = name, letters[call('ZSCORE', members(step, name), id)] or '-'
  change_flow(step, id, f)
  return 'it knows of it again'
end

-- Keys and times.
function mends.key(step, key)
  local k = key_of(step, key)
  unique_keys.change_key(step, key, k)
  return k and 'it was written anew' or 'it is free, but for a job that names it'
end
function mends.period(step, key)
  owes_at(step, 'key - ' .. key, key_of(step, key).until_)
  return 'its end is looked at'
end
function mends.own_key(step, id)
  local f = flow_of(step, id)
  if unique_keys.key_taken_by(step, id, f) then
    f.key, f.point = nil, nil
    change_flow(step, id, f)
    return 'another has it: this one has none'
  end
  return 'it has it again'
end
function mends.holder(step, key, id)
  local f, k = row_of(step, id), key_of(step, key)
  if end_of(step, id, {}) == '' and not f.key then
    f.key, f.point = key, k.point
    change_flow(step, id, f)
    return 'it knows of it again'
  end
  unique_keys.free_key(step, id, {key = key})
  return 'it does not have it any more'
end
function mends.clock(step, id)
  clocks.watch_clock(step, id, flow_of(step, id), clocks.has_begun(values.read_history(call('HGET',
                                                                                                  step.keys.history,
                                                                                                    id))))
  return 'it is looked at'
end

-- Jobs that are not there: they count as failed, as those whose records cannot be read.
function mends.lost(step, id)
  local remade = remade_if_group(step, id)
  if remade then return remade end
  local f = flow_of(step, id)
  continuations.let_go(step, id, f, 'f')
  continuations.reduce_row(step, id, f)
  step.lost_jobs[#step.lost_jobs + 1] = id
  return 'it counts as failed, and what there was of it was removed'
end
function mends.lost_parent(step, id, parent_id)
  local remade = remade_if_group(step, parent_id)
  if remade then return remade end
  local f = flow_of(step, id)
  for _, parent in ipairs(f.parents) do
    if parent.id == parent_id then parent.state = string.find(f.on, 'f', 1, true) and '3' or '4' end
  end
  change_flow(step, id, f)
  place(step, id, f)
  return 'that one counts as failed'
end

-- Does what each finding is mended by, once; answers what was done for each.
local function mend_all(step)
  local done, told = {}, {}
  step.has_flow = '1'  -- also where the mark of it was lost
  for i, mend in ipairs(step.mends_for) do
    local which = table.concat(mend, '\n')
    done[which] = done[which] or mends[mend[1]](step, mend[2], mend[3])
    told[i] = done[which]
  end
  if #told == 0 then return told end
  changes.commit(step)
  continuations.forget_flow(step, step.lost_jobs)
  for _, write in ipairs(step.last_writes) do write() end
  if call('HLEN', step.keys.flow) > 0 or call('EXISTS', step.keys.agenda) == 1 then
    call('SET', step.keys.flow_mark, '1')
  end
  hints.finish(step)
  return told
end

-- See calls/repair.lua.
function repairing.repair_slice(step)
  call('SCARD', step.keys.queues)
  call('HLEN', step.keys.flow)
  call('HLEN', step.keys.held_keys)
  call('HLEN', step.keys.group_counts)
  sorted(step, step.keys.agenda)
  sorted(step, step.keys.due)
  sorted(step, step.keys.ending)
  local cursor = mending.look_through(step, scan_for[step.args[3]] or 'ZSCAN')
  return {cursor, step.findings, {}, mend_all(step)}
end
