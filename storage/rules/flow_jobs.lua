-- New jobs that have to do with others, or with time. ARGV from `at`, for each job: id; queue; delay in microseconds,
-- from its release on; record; its options, see below; its unique key or empty; the number of its parents, and their
-- ids.
local flow_of = flow.flow_of
local flow_job_values = 7

-- Options are the same for many jobs, and are read once: words, = where there is none. on, unless and need, see
-- flow.lua; what an end counts as that nobody can tell, since the parent is not there: r (as wanted) or d (not as
-- wanted), or = which refuses the job; its group, and the id and fence of a run that adds to its own group; until when
-- its key is held (e, s or p), the period, what is done when another has it (skip, refuse, replace, extend, coalesce)
-- and, of extend, how long after its enqueue that may be at most; start_within and finish_within.
function fresh.options_read() return {} end
local function options_of(step, said)
  if step.options_read[said] then return step.options_read[said] end
  local o = {}
  o.on, o.unless, o.need, o.if_missing, o.group, o.by, o.fence, o.point, o.period, o.rule, o.at_most, o.start_within,
    o.finish_within = match(said, '^' .. ('(%S+) '):rep(12) .. '(%S+)$')
  for name, word in pairs(o) do o[name] = word ~= '=' and word or nil end
  o.need, o.period, o.at_most = tonumber(o.need), tonumber(o.period), tonumber(o.at_most)
  o.start_within, o.finish_within = tonumber(o.start_within), tonumber(o.finish_within)
  step.options_read[said] = o
  return o
end
function fresh.new_jobs()
  return {mine = {}, named = {}, ends = {}, stored = {}}
end

-- Reads what there is of those that begin from `at` to `last`, all at once; answers the place behind them.
function flow_jobs.read_new(step, at, last)
  local ids, named_keys = {}, {}
  step.has_flow = '1'
  while at <= last do
    local key = step.args[at + 5]
    ids[#ids + 1] = step.args[at]
    step.new_jobs.named[step.args[at]] = true  -- all of a call from its beginning on, as when it is asked again
    if key ~= '' then named_keys[#named_keys + 1] = key end
    at = at + flow_job_values + tonumber(step.args[at + flow_job_values - 1])
  end
  for i, record in ipairs(lists.many('HMGET', step.keys.jobs, ids)) do
    if record then step.new_jobs.stored[ids[i]] = record end
  end
  flow.read_flows(step, ids)
  unique_keys.read_keys(step, named_keys)
  return at
end

-- Whether one of these parents, or one that such a parent awaits, is the group or one that it is in: then nobody of
-- them would ever end. Members of other groups are not followed.
local max_followed = 1000
local function awaits_group(step, parents, group)
  local around, name = {}, group
  while name do
    around[groups.node_of(name)] = true
    local its = flow_of(step, groups.node_of(name))
    name = its and its.group
  end
  local open, seen, n = {}, {}, 0
  for i, parent in ipairs(parents) do open[i] = parent.id end
  while #open > 0 and n < max_followed do
    local id = table.remove(open)
    if around[id] then return true end
    local f = not seen[id] and not groups.group_in(id) and flow_of(step, id)
    if not seen[id] then seen[id], n = true, n + 1 end
    -- Who is of this group was looked at when it was stored.
    for _, parent in ipairs(f and f.group ~= group and f.parents or {}) do
      if parent.state == '0' then open[#open + 1] = parent.id end
    end
  end
  return false
end

-- How a parent has ended for a child that wants `on`.
local function end_for(step, parent, on)
  local name = groups.group_in(parent)
  local g = name and groups.group_of(step, name)
  if g then return on == 'e' and g.f > 0 and 'e' or groups.end_of_group(g) end
  local letter = step.new_jobs.ends[parent]
  if letter == nil then
    letter = continuations.end_of(step, parent, step.new_jobs.mine)
    step.new_jobs.ends[parent] = letter
  end
  return letter
end

-- Its parents, and how each has ended for it; or missing, and the id of one that is not there. Besides the last that
-- did not end as it wants, and how that ended.
local function parents_at(step, at, count, o)
  local parents, unmet, letter_of_unmet = {}, nil, nil
  for i = 1, count do
    local parent = step.args[at + flow_job_values - 1 + i]
    local letter = end_for(step, parent, o.on)
    if letter == 'missing' and not o.if_missing then return nil, parent end
    local state = '0'
    if letter == 'missing' then state = o.if_missing == 'r' and '3' or '4'
    elseif letter ~= '' then state = string.find(o.on, letter, 1, true) and '1' or '2' end
    if state == '2' or state == '4' then unmet, letter_of_unmet = parent, letter end
    parents[i] = {id = parent, state = state}
  end
  return parents, unmet, letter_of_unmet
end
local function clock_of(step, o)
  if not (o.start_within or o.finish_within) then return nil end
  return {start_within = o.start_within and math.max(1, o.start_within) or 0, start_by = 0,
          finish_within = o.finish_within and math.max(1, o.finish_within) or 0,
          finish_by = o.finish_within and math.max(1, math.min(step.now + o.finish_within, base.longest)) or 0}
end
-- Where a new job goes: how it has ended already, or nothing.
local function place_new(step, id, queue, f, unmet, letter_of_unmet)
  local ended_as, reason, cause = clocks.over_for(step, f, false)
  if ended_as then
    early_ends.enter_final(step, id, queue, ended_as, reason, cause)
    return ended_as
  end
  if not f.parents then
    continuations.enter_after_release(step, id, queue, f)
    clocks.watch_clock(step, id, f, false)
    return nil
  end
  local where = continuations.place_child(step, id, queue, f, unmet, letter_of_unmet)
  if where == 'unmet' then return 'd' end
  if where == 'awaiting' then
    changes.enter(step, places.line(step, 'awaiting', queue), base.int_text(numbers.draw(step, 1)), id)
    clocks.watch_clock(step, id, f, false)
  end
end

-- Plans one that was read. Answers what came of it and about whom, or what, and the place behind it: stored, and whom
-- it replaced; there, and the record that stands under its id already; missing, and the parent; no_group, sealed,
-- cancelled or circle (it would wait for itself), and the group; other_group, and the one in which it is there, or
-- empty; or what ask_for_key says, when it was not stored.
function flow_jobs.plan_new(step, at)
  local id, queue, delay, record = step.args[at], step.args[at + 1], tonumber(step.args[at + 2]), step.args[at + 3]
  local o, key, count = options_of(step, step.args[at + 4]), step.args[at + 5], tonumber(step.args[at + 6])
  local behind = at + flow_job_values + count
  local there = step.new_jobs.mine[id] or step.new_jobs.stored[id]
  if there and not step.new_jobs.mine[id] and places.is_half_stored(step, id, there) then there = nil end
  if there and o.group then
    local its = flow_of(step, id)
    if not its or its.group ~= o.group then return 'other_group', its and its.group or '', behind end
  end
  if there then return 'there', there, behind end
  local earlier = flow_of(step, id)  -- of a life that ended in quarantine
  if earlier then
    continuations.let_go(step, id, earlier, 'f')
    flow.take_back_end(step, id)
    continuations.reduce_row(step, id, earlier)
  end

  local parents, unmet, letter_of_unmet
  if count > 0 then
    parents, unmet, letter_of_unmet = parents_at(step, at, count, o)
    if not parents then return 'missing', unmet, behind end
    if o.group and awaits_group(step, parents, o.group) then return 'circle', o.group, behind end
  end
  local closed = o.group and groups.why_closed(step, o.group, o.by or '', o.fence)
  if closed then return closed, o.group, behind end
  local on, need, replaced, clock = o.on, o.need, '', clock_of(step, o)
  local has_key = key ~= ''
  if has_key then
    local what, other = unique_keys.ask_for_key(step, id, key, o, delay, parents or {}, step.new_jobs.named)
    if what ~= 'stored' then return what, other, behind end
    replaced = other
    local k = unique_keys.key_of(step, key)
    if k.next_one == id then  -- it awaits the end of the one that has the key
      parents, on, need = parents or {}, 'sfd', count + 1
      parents[need] = {id = k.owner, state = '0'}
    end
  end

  step.new_jobs.mine[id] = record
  changes.store(step, id, queue, record)
  local f = {has_children = earlier and earlier.has_children, delay = delay, clock = clock, group = o.group,
             counted = o.group and '-', key = has_key and key or nil, point = has_key and o.point or nil}
  if o.group then groups.add_member(step, o.group, id) end
  flow.change_flow(step, id, f)
  if parents then
    f.parents, f.on, f.unless, f.need, f.is_unmet = parents, on, o.unless, need, false
    for _, parent in ipairs(parents) do
      if parent.state < '3' then
        local its = flow_of(step, parent.id) or {}
        its.has_children = true
        flow.change_flow(step, parent.id, its)
      end
    end
    continuations.put_edges(step, id, f)
  elseif clock and o.start_within then  -- what comes too late is stored as ended
    clock.start_by = math.max(1, step.now + delay + o.start_within)
  end
  local ended_as = place_new(step, id, queue, f, unmet, letter_of_unmet)
  -- 'missing', for a child that came before it
  if ended_as or step.new_jobs.ends[id] then step.new_jobs.ends[id] = ended_as or '' end
  if ended_as then
    unique_keys.free_key(step, id, f)  -- now, as when this step is asked for again
    changes.end_for_good(step, id, ended_as)
  end
  return 'stored', replaced, behind
end
-- One that the end of another carries: nothing, or why it was not stored.
local why_not_stored = {there = 'another has its id', missing = 'its parent is not in the store: ',
                        no_group = 'there is no group ',
                        circle = 'it would wait for itself, by its group ', sealed = 'this group is sealed: ',
                          cancelled = 'this group was cancelled: ',
                        other_group = 'another has its id, in no group or in ', extended = 'its delay was given to ',
                        own_parent = 'it would take the place of its own parent ',
                        duplicate = 'its unique key is held by ', forgotten = 'its unique key is held by ', refused =
                          'its unique key is held by '}
function flow_jobs.plan_next(step, at, carrier)
  local f = flow_of(step, carrier)
  if f then unique_keys.free_key(step, carrier, f) end  -- it has ended: the next may have its key
  local what, whom = flow_jobs.plan_new(step, at)
  if what == 'stored' then return nil end
  return 'job ' .. step.args[at] .. ', which it carried, was not stored: ' .. why_not_stored[what] ..
         (what == 'there' and '' or whom)
end
