-- Writes.
-- Looks at a slice as `audit` does, and mends what is wrong in the same step, by what else is stored: an end that
-- somebody was not told of is owed again, and goes the way of all ends (continuations.lua).
-- ARGV as of audit; [3]: what shared/mendable_rules.lua has rules for, in the order of machine/audit.cpp.
-- Answer: the cursor; what was wrong; an empty list; of each finding what was done, or empty.
-- Asked again it finds nothing but what another rule has to mend, later in that order or in the next pass.
begin_freeing()
begin_flow_plan()
call('SCARD', queues)
call('HLEN', flow)
call('HLEN', held_keys)
call('HLEN', group_counts)
sorted(agenda)
sorted(due)
sorted(ending)
local ended = {}  -- in this step, as plan_ends has it
local lost = {}   -- of whom nothing is to be left
local behind = {}  -- writes that come last
local mends = {}
local scan_for = {queues = 'SSCAN', flow = 'HSCAN', held_keys = 'HSCAN', groups = 'HSCAN'}
local function row_of(id) return flow_of(id) or {has_children = call('EXISTS', after(id)) == 1} end

function mends.mark() return 'it was set' end
function mends.owe(member)
  owes(member)
  return 'the next look at what is due goes on with it'
end
function mends.owe_no_more(member)
  flow_plan.owed[member] = false
  return 'it was removed'
end
-- Who cannot be looked at too early is looked at in a day.
function mends.instant(member)
  local what = match(member, '^%l+')
  owes_at(member, (what == 'seal' or what == 'forget') and now + group_kept or 0)
  return 'it is looked at ' .. ((what == 'seal' or what == 'forget') and 'in a day' or 'at once')
end
function mends.due(queue)
  behind[#behind + 1] = function() refresh_due(queue) end
  has_work('@')
  return 'it is listed as it should be'
end
function mends.leases(queue, first)
  behind[#behind + 1] = function() call('ZADD', ending, first, queue) end
  has_work('@')
  return 'they are looked at'
end

-- Jobs that a step left without a place. Who was running is lost when his lease is over, which it is at once; whoever
-- else waited, and may have ended, waits again.
function mends.unplaced(id)
  local queue, f, a = queue_of(call('HGET', jobs, id)), flow_of(id), on_demand().admission_of(id)
  local p = read_history(call('HGET', history, id))
  local function enter(key, score) add_two(flow_plan.entering, sorted(key), score, id) end
  behind[#behind + 1] = function() call('SADD', queues, queue) end
  if call('HEXISTS', runs, id) == 1 then
    enter(line('processing', queue), now_text)
    behind[#behind + 1] = function() call('ZADD', ending, 'LT', now_text, queue) end
    has_work('@')
    return 'its run counts as lost'
  end
  local arrival = a and a.at ~= '' and call('ZSCORE', wait_line(queue, a.at), id)
  if arrival then
    enter(line('throttled', queue), arrival)
    return 'it waits for ' .. a.at
  end
  if f and f.parents and not f.is_unmet then
    enter(line('awaiting', queue), int_text(draw(1)))
    return 'it awaits others'
  end
  enter(tail(queue, p and p.losses or 0), int_text(draw(1)))
  has_work(queue)
  return 'it is ready'
end
-- Permits that nobody has.
function mends.permit(entry)
  local resource, at = text_at(entry, 1)
  local id = sub(entry, at)
  on_demand().check_throttlers()
  behind[#behind + 1] = function()
    on_demand().forget_job(id)
    if call('HEXISTS', holders(resource), id) == 0 then return end
    call('ZREM', reserved, reservation(resource, id))
    on_demand().remove_entries(resource, {id})
    on_demand().pass_on(resource)
  end
  return 'it was given back'
end
function mends.count(resource)
  on_demand().check_throttlers()
  behind[#behind + 1] = function() on_demand().count_anew() end
  return 'it was counted anew'
end

-- Rows. What cannot be read is made anew by the rules of whatever names the job: its group, its key and its parents.
function mends.row(id)
  local f = flow_of(id)
  change_flow(id, f or {has_children = call('EXISTS', after(id)) == 1})
  return f and 'it was written anew' or 'it was made anew by what others say of it'
end
function mends.no_children(id)
  if not flow_plan.edges.of[after(id)] then
    local f = flow_of(id)
    f.has_children = false
    change_flow(id, f)
  end
  return 'it is said to have none'
end
function mends.children(parent)
  if end_of(parent, {}) == 'missing' then
    behind[#behind + 1] = function() call('DEL', after(parent)) end
    return 'there is no such job: they were removed from it'
  end
  local f = row_of(parent)
  f.has_children = true
  change_flow(parent, f)
  return 'it is said to have some'
end
function mends.edge(id, parent_id)
  local f, its = flow_of(id), row_of(parent_id)
  its.has_children = true
  change_flow(parent_id, its)
  for _, parent in ipairs(f.parents) do
    if parent.id == parent_id then add_two(flow_plan.edges, after_parent(parent_id), edge_score(f, parent), id) end
  end
  return 'it is'
end

-- Children.
local function place(id, f)
  local where_it_is = {released = 'it was released', unmet = 'it was deleted', awaiting = 'it awaits others'}
  local unmet, letter = '', ''
  for _, parent in ipairs(f.parents) do
    if parent.state == '4' then unmet, letter = parent.id, 'missing'
    elseif parent.state == '2' then unmet, letter = parent.id, end_of(parent.id, {}) end
  end
  return where_it_is[place_awaiting(id, f, unmet, letter, ended) or 'awaiting']
end
function mends.place(id)
  local f = row_of(id)
  if not f.parents then
    f.parents, f.need, f.delay = {}, 0, 0
    local where = place(id, f)
    f.parents = nil
    return where
  end
  if f.is_unmet then
    f.is_unmet = false
    put_edges(id, f)
    change_flow(id, f)
  end
  if f.unless == 'u' then  -- all that have it among their children have been looked at
    f.unless = 'k'
    change_flow(id, f)
  end
  return place(id, f)
end
function mends.child(parent_id, id)
  local f, its_end = row_of(id), end_of(parent_id, {})
  local record = call('HGET', jobs, id)
  local queue = record and queue_of(record)
  local is_lost = queue and call('ZSCORE', line('awaiting', queue), id) and its_end ~= 'missing' and
                  (not f.parents or f.unless == 'u')
  if not is_lost then
    add_one(flow_plan.dropped, after_parent(parent_id), id)
    return 'it was taken from them'
  end
  -- What it wanted of its parents is lost with its row, so it is kept unless all of them succeed. None of them releases
  -- it before its line is looked at, when the others are found.
  f.parents = f.parents or {}
  f.parents[#f.parents + 1] = {id = parent_id, state = its_end == '' and '0' or its_end == 's' and '1' or '2'}
  f.need, f.delay, f.is_unmet, f.on, f.unless = #f.parents, 0, false, 's', 'u'
  change_flow(id, f)
  add_two(flow_plan.edges, after_parent(parent_id), edge_score(f, f.parents[#f.parents]), id)
  return 'it awaits it again'
end

-- Groups.
-- As what its members and the agenda say. One that had not finished is not sealed, so that it does not finish before all
-- its members are known: who filled it seals it again, or it is cancelled in a day.
local function group_or_remade(name)
  local g = group_of(name)
  if g then return g end
  local node = node_of(name)
  local function count(score) return call('ZCOUNT', members(name), score, score) end
  local was_cancelled = stands_in_agenda('cancel', node) or count(4) > 0
  g = {state = was_cancelled and 'c' or stands_in_agenda('forget', node) and 's' or 'o', open = count(0) + count(4),
       s = count(1), f = count(2), d = count(3), created = now, ended = 0}
  change_group(name, g)
  return g
end
-- Of a node that does not exist: nothing when it is no group, or nothing tells that there was one.
local function remade_if_group(node)
  local name = group_in(node)
  local is_told = name and (call('EXISTS', members(name)) == 1 or call('HEXISTS', group_counts, name) == 1)
  for _, what in ipairs({'seal', 'cancel', 'forget'}) do is_told = is_told or name and stands_in_agenda(what, node) end
  return is_told and group_or_remade(name) and 'it was made anew from its members'
end
function mends.group(name)
  local was_there, node = group_of(name), node_of(name)
  local had_failed = was_there and was_there.f > 0
  local g = group_or_remade(name)
  local function count(score) return call('ZCOUNT', members(name), score, score) end
  g.open = count(0) + count(4)
  g.s, g.f, g.d = math.max(g.s, count(1)), math.max(g.f, count(2)), math.max(g.d, count(3))
  change_group(name, g)
  if g.f > 0 and not had_failed then ended[#ended + 1] = {node, 'e'} end
  if is_finished(g) and g.ended == 0 then finish_group(name, g, ended)
  elseif is_finished(g) and not stands_in_agenda('forget', node) then owes_at('forget - ' .. node, now + group_kept)
  elseif not is_finished(g) and g.ended > 0 then
    g.ended = 0
    owes_no_more('forget - ' .. node)
    take_back_end(node)
  end
  if g.state == 'o' and not stands_in_agenda('seal', node) then owes_at('seal - ' .. node, now + group_kept) end
  if g.state == 'c' and count(0) > 0 then owes('cancel - ' .. node) end
  return was_there and 'it was made to agree with its members' or 'it was made anew from its members'
end
function mends.member(id)
  local f, how = flow_of(id), end_of(id, {})
  local g, score = group_or_remade(f.group), call('ZSCORE', members(f.group), id)
  if how == '' and f.counted ~= '-' then
    local again = {}
    if score == member_scores[f.counted] and g[f.counted] > 0 then count_again(id, f, again) end
    for _, one in ipairs(again) do owes('again - ' .. one) end
    f.counted = '-'
    change_flow(id, f)
  elseif how ~= '' and how ~= 'missing' and f.counted == '-' then owes('edges ' .. how .. ' ' .. id) end
  put_member(f.group, id, f.counted == '-' and (score == '4' and '4' or '0') or member_scores[f.counted])
  return how == '' and 'it counts as open' or 'it counts as it ended'
end
function mends.membership(name, id)
  local f, letters = row_of(id), {['1'] = 's', ['2'] = 'f', ['3'] = 'd'}
  if end_of(id, {}) == 'missing' or f.group then
    add_one(flow_plan.dropped, sorted(members(name)), id)
    return 'it was taken from them'
  end
  f.group, f.counted = name, letters[call('ZSCORE', members(name), id)] or '-'
  change_flow(id, f)
  return 'it knows of it again'
end

-- Keys and times.
function mends.key(key)
  local k = key_of(key)
  change_key(key, k)
  return k and 'it was written anew' or 'it is free, but for a job that names it'
end
function mends.period(key)
  owes_at('key - ' .. key, key_of(key).until_)
  return 'its end is looked at'
end
function mends.own_key(id)
  local f = flow_of(id)
  if key_taken_by(id, f) then
    f.key, f.point = nil, nil
    change_flow(id, f)
    return 'another has it: this one has none'
  end
  return 'it has it again'
end
function mends.holder(key, id)
  local f, k = row_of(id), key_of(key)
  if end_of(id, {}) == '' and not f.key then
    f.key, f.point = key, k.point
    change_flow(id, f)
    return 'it knows of it again'
  end
  free_key(id, {key = key})
  return 'it does not have it any more'
end
function mends.clock(id)
  watch_clock(id, flow_of(id), has_begun(read_history(call('HGET', history, id))))
  return 'it is looked at'
end

-- Jobs that are not there: they count as failed, as those whose records cannot be read.
function mends.lost(id)
  local remade = remade_if_group(id)
  if remade then return remade end
  local f = flow_of(id)
  let_go(id, f, 'f', ended)
  reduce_row(id, f)
  lost[#lost + 1] = id
  return 'it counts as failed, and what there was of it was removed'
end
function mends.lost_parent(id, parent_id)
  local remade = remade_if_group(parent_id)
  if remade then return remade end
  local f = flow_of(id)
  for _, parent in ipairs(f.parents) do
    if parent.id == parent_id then parent.state = string.find(f.on, 'f', 1, true) and '3' or '4' end
  end
  change_flow(id, f)
  place(id, f)
  return 'that one counts as failed'
end

-- Does what each finding is mended by, once; answers what was done for each.
local function mend_all()
  local done, told = {}, {}
  for i, mend in ipairs(mends_for) do
    local which = table.concat(mend, '\n')
    done[which] = done[which] or mends[mend[1]](mend[2], mend[3])
    told[i] = done[which]
  end
  if #told == 0 then return told end
  plan_ends(ended)
  keep_totals(job_counts)
  on_demand().carry_out_ends()
  on_demand().forget_flow(lost)
  for _, write in ipairs(behind) do write() end
  if call('HLEN', flow) > 0 or call('EXISTS', agenda) == 1 then call('SET', flow_mark, '1') end
  finish()
  return told
end

local cursor = look_through(scan_for[ARGV[3]] or 'ZSCAN')
return {cursor, findings, {}, mend_all()}
