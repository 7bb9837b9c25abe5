-- New jobs that have to do with others, or with time. ARGV from `at`, for each job: id; queue; delay in microseconds,
-- from its release on; record; its options, see below; its unique key or empty; the number of its parents, and their ids.
local flow_job_values = 7

-- Options are the same for many jobs, and are read once: words, = where there is none. on, unless and need, see
-- flow_rows.lua; what an end counts as that nobody can tell, since the parent is not there: r (as wanted) or d (not as
-- wanted), or = which refuses the job; its group, and the id and fence of a run that adds to its own group; until when its
-- key is held (e, s or p), the period, what is done when another has it (skip, refuse, replace, extend, coalesce) and, of
-- extend, how long after its enqueue that may be at most; start_within and finish_within.
local options_read = {}
local function options_of(said)
  if options_read[said] then return options_read[said] end
  local o = {}
  o.on, o.unless, o.need, o.if_missing, o.group, o.by, o.fence, o.point, o.period, o.rule, o.at_most, o.start_within,
    o.finish_within = match(said, '^' .. ('(%S+) '):rep(12) .. '(%S+)$')
  for name, word in pairs(o) do o[name] = word ~= '=' and word or nil end
  o.need, o.period, o.at_most = tonumber(o.need), tonumber(o.period), tonumber(o.at_most)
  o.start_within, o.finish_within = tonumber(o.start_within), tonumber(o.finish_within)
  options_read[said] = o
  return o
end
local new_jobs = {records = {}, queues = {}, is_known = {}, mine = {}, named = {}, ends = {}, ended = {}, stored = {}}

-- Reads what there is of those that begin from `at` to `last`, all at once; answers the place behind them.
local function read_new(at, last)
  local ids, keys = {}, {}
  while at <= last do
    local key = ARGV[at + 5]
    ids[#ids + 1] = ARGV[at]
    if key ~= '' then keys[#keys + 1] = key end
    at = at + flow_job_values + tonumber(ARGV[at + flow_job_values - 1])
  end
  for i, record in ipairs(many('HMGET', jobs, ids)) do
    if record then new_jobs.stored[ids[i]] = record end
  end
  read_flows(ids)
  read_keys(keys)
  return at
end

-- Whether one of these parents, or one that such a parent awaits, is the group or one that it is in: then nobody of them
-- would ever end. Members of other groups are not followed.
local max_followed = 1000
local function awaits_group(parents, group)
  local around, name = {}, group
  while name do
    around[node_of(name)] = true
    local its = flow_of(node_of(name))
    name = its and its.group
  end
  local open, seen, n = {}, {}, 0
  for i, parent in ipairs(parents) do open[i] = parent.id end
  while #open > 0 and n < max_followed do
    local id = table.remove(open)
    if around[id] then return true end
    local f = not seen[id] and not group_in(id) and flow_of(id)
    if not seen[id] then seen[id], n = true, n + 1 end
    -- Who is of this group was looked at when it was stored.
    for _, parent in ipairs(f and f.group ~= group and f.parents or {}) do
      if parent.state == '0' then open[#open + 1] = parent.id end
    end
  end
  return false
end

-- How a parent has ended for a child that wants `on`.
local function end_for(parent, on)
  local name = group_in(parent)
  local g = name and group_of(name)
  if g then return on == 'e' and g.f > 0 and 'e' or end_of_group(g) end
  local letter = new_jobs.ends[parent]
  if letter == nil then
    letter = end_of(parent, new_jobs.mine)
    new_jobs.ends[parent] = letter
  end
  return letter
end

-- Its parents, and how each has ended for it; or missing, and the id of one that is not there. Besides the last that did
-- not end as it wants, and how that ended.
local function parents_at(at, count, o)
  local parents, unmet, letter_of_unmet = {}, nil, nil
  for i = 1, count do
    local parent = ARGV[at + flow_job_values - 1 + i]
    local letter = end_for(parent, o.on)
    if letter == 'missing' and not o.if_missing then return nil, parent end
    local state = '0'
    if letter == 'missing' then state = o.if_missing == 'r' and '3' or '4'
    elseif letter ~= '' then state = string.find(o.on, letter, 1, true) and '1' or '2' end
    if state == '2' or state == '4' then unmet, letter_of_unmet = parent, letter end
    parents[i] = {id = parent, state = state}
  end
  return parents, unmet, letter_of_unmet
end
local function clock_of(o)
  if not (o.start_within or o.finish_within) then return nil end
  return {start_within = o.start_within and math.max(1, o.start_within) or 0, start_by = 0,
          finish_within = o.finish_within and math.max(1, o.finish_within) or 0,
          finish_by = o.finish_within and math.max(1, math.min(now + o.finish_within, longest)) or 0}
end
-- Where a new job goes: how it has ended already, or nothing.
local function place_new(id, queue, f, unmet, letter_of_unmet)
  local ended_as, reason, cause = over_for(f, false)
  if ended_as then
    enter_final(id, queue, ended_as, reason, cause)
    return ended_as
  end
  if not f.parents then
    enter_after_release(id, queue, f)
    watch_clock(id, f, false)
    return nil
  end
  local where = place_child(id, queue, f, unmet, letter_of_unmet)
  if where == 'unmet' then return 'd' end
  if where == 'awaiting' then
    add_two(flow_plan.entering, sorted(line('awaiting', queue)), int_text(draw(1)), id)
    watch_clock(id, f, false)
  end
end

-- Plans one that was read. Answers what came of it and about whom, or what, and the place behind it: stored, and whom it
-- replaced; there, and the record that stands under its id already; missing, and the parent; no_group, sealed, cancelled
-- or circle (it would wait for itself), and the group; other_group, and the one in which it is there, or empty; or what
-- ask_for_key says, when it was not stored.
local function plan_new(at)
  local id, queue, delay, record = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3]
  local o, key, count = options_of(ARGV[at + 4]), ARGV[at + 5], tonumber(ARGV[at + 6])
  local behind = at + flow_job_values + count
  new_jobs.named[id] = true
  local there = new_jobs.mine[id] or new_jobs.stored[id]
  if there and not new_jobs.mine[id] and is_half_stored(id, there) then there = nil end
  if there and o.group then
    local its = flow_of(id)
    if not its or its.group ~= o.group then return 'other_group', its and its.group or '', behind end
  end
  if there then return 'there', there, behind end
  if #new_jobs.queues == 0 then call('SCARD', queues) end
  local earlier = flow_of(id)  -- of a life that ended in quarantine
  if earlier then
    let_go(id, earlier, 'f', new_jobs.ended)
    take_back_end(id)
    reduce_row(id, earlier)
  end

  local parents, unmet, letter_of_unmet
  if count > 0 then
    parents, unmet, letter_of_unmet = parents_at(at, count, o)
    if not parents then return 'missing', unmet, behind end
    if o.group and awaits_group(parents, o.group) then return 'circle', o.group, behind end
  end
  local closed = o.group and why_closed(o.group, o.by or '', o.fence)
  if closed then return closed, o.group, behind end
  local on, need, replaced, clock = o.on, o.need, '', clock_of(o)
  local has_key = key ~= ''
  if has_key then
    local what, other = ask_for_key(id, key, o, delay, parents or {}, new_jobs.named, new_jobs.ended)
    if what ~= 'stored' then return what, other, behind end
    replaced = other
    local k = key_of(key)
    if k.next_one == id then  -- it awaits the end of the one that has the key
      parents, on, need = parents or {}, 'sfd', count + 1
      parents[need] = {id = k.owner, state = '0'}
    end
  end

  new_jobs.mine[id] = record
  local records = new_jobs.records
  records[#records + 1] = id
  records[#records + 1] = record
  if not new_jobs.is_known[queue] then
    new_jobs.is_known[queue], new_jobs.queues[#new_jobs.queues + 1] = true, queue
  end
  count_jobs(queue, 'enqueued', 1)
  local f = {has_children = earlier and earlier.has_children, delay = delay, clock = clock, group = o.group,
             counted = o.group and '-', key = has_key and key or nil, point = has_key and o.point or nil}
  if o.group then add_member(o.group, id) end
  change_flow(id, f)
  if parents then
    f.parents, f.on, f.unless, f.need, f.is_unmet = parents, on, o.unless, need, false
    for _, parent in ipairs(parents) do
      if parent.state < '3' then
        local its = flow_of(parent.id) or {}
        its.has_children = true
        change_flow(parent.id, its)
      end
    end
    put_edges(id, f)
  elseif clock and o.start_within then  -- what comes too late is stored as ended
    clock.start_by = math.max(1, now + delay + o.start_within)
  end
  local ended_as = place_new(id, queue, f, unmet, letter_of_unmet)
  if ended_as or new_jobs.ends[id] then new_jobs.ends[id] = ended_as or '' end  -- 'missing', for a child that came before it
  if ended_as then
    free_key(id, f)  -- now, as when this step is asked for again
    new_jobs.ended[#new_jobs.ended + 1] = {id, ended_as}
  end
  return 'stored', replaced, behind
end
-- One that the end of another carries: nothing, or why it was not stored.
local why_not_stored = {there = 'another has its id', missing = 'its parent is not in the store: ', no_group = 'there is no group ',
                        circle = 'it would wait for itself, by its group ', sealed = 'this group is sealed: ', cancelled = 'this group was cancelled: ',
                        other_group = 'another has its id, in no group or in ', extended = 'its delay was given to ',
                        own_parent = 'it would take the place of its own parent ',
                        duplicate = 'its unique key is held by ', forgotten = 'its unique key is held by ', refused = 'its unique key is held by '}
local function plan_next(at, carrier)
  local f = flow_of(carrier)
  if f then free_key(carrier, f) end  -- it has ended: the next may have its key
  local what, whom = plan_new(at)
  if what == 'stored' then return nil end
  return 'job ' .. ARGV[at] .. ', which it carried, was not stored: ' .. why_not_stored[what] .. (what == 'there' and '' or whom)
end
-- What follows of those that have ended in this step, by being stored or replaced.
local function plan_new_ends()
  if #new_jobs.ended > 0 then plan_ends(new_jobs.ended) end
end
-- Before carry_out_ends, and behind keep_totals: each writes a part of what was planned.
local function write_new()
  if #new_jobs.records == 0 then return end
  say_layout()
  call('SADD', queues, unpack(new_jobs.queues))
  many('HSET', jobs, new_jobs.records)
end
