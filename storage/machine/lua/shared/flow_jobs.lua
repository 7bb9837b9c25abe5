-- New jobs that have to do with others, or with time. ARGV from `at`, for each job: id; queue; delay in microseconds,
-- from its release on; record; on, unless and need, see flow_rows.lua; what an end counts as that nobody can tell, since
-- the parent is not there: r (as wanted), d (not as wanted) or empty, which refuses the job; its group or empty, and the
-- id and fence of a run that adds to its own group; its unique key or empty, until when it is held (e, s or p), the
-- period, what is done when another has it (skip, refuse, replace, extend, coalesce) and, of extend, how long after its
-- enqueue that may be at most; start_within and finish_within, empty for none; the number of its parents, and their ids.
local flow_job_values = 19
local new_jobs = {records = {}, queues = {}, is_known = {}, mine = {}, named = {}, ends = {}, ended = {}, stored = {}}

local function behind_new(at) return at + flow_job_values + tonumber(ARGV[at + flow_job_values - 1]) end

-- Reads what there is of those that begin there, all at once.
local function read_new(first, last)
  local ids, at = {}, first
  while at <= last do
    ids[#ids + 1] = ARGV[at]
    at = behind_new(at)
  end
  for i, record in ipairs(many('HMGET', jobs, ids)) do new_jobs.stored[ids[i]] = record end
  read_flows(ids)
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
    n = n + 1
    if around[id] then return true end
    local f = not seen[id] and not group_in(id) and flow_of(id)
    seen[id] = true
    for _, parent in ipairs(f and f.parents or {}) do
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

-- Plans one; answers what came of it and about whom, or what, and the place behind it: stored, and whom it replaced;
-- there, and the record that stands under its id already; missing, and the parent; no_group, sealed, cancelled or circle
-- (it would wait for itself), and the group; duplicate or refused, and who has its key.
local function plan_new(at)
  local id, queue, delay, record = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3]
  local f = {on = ARGV[at + 4], unless = ARGV[at + 5], need = tonumber(ARGV[at + 6]), delay = delay, is_unmet = false,
             parents = {}}
  local if_missing, group, key = ARGV[at + 7], ARGV[at + 8], ARGV[at + 11]
  local start_within, finish_within, count = ARGV[at + 16], ARGV[at + 17], tonumber(ARGV[at + 18])
  local behind = behind_new(at)
  new_jobs.named[id] = true
  local there = new_jobs.mine[id] or new_jobs.stored[id]
  if there == nil then there = call('HGET', jobs, id) end
  if there then return 'there', there, behind end
  if #new_jobs.queues == 0 then call('SCARD', queues) end
  local earlier = flow_of(id)  -- of a life that ended in quarantine
  if earlier then
    let_go(id, earlier, 'f', new_jobs.ended)
    take_back_end(id)
    reduce_row(id, earlier)
  end

  local unmet, letter_of_unmet = nil, nil
  for i = 1, count do
    local parent = ARGV[at + flow_job_values - 1 + i]
    local letter = end_for(parent, f.on)
    if letter == 'missing' and if_missing == '' then return 'missing', parent, behind end
    local state = '0'
    if letter == 'missing' then state = if_missing == 'r' and '3' or '4'
    elseif letter ~= '' then state = string.find(f.on, letter, 1, true) and '1' or '2' end
    if state == '2' or state == '4' then unmet, letter_of_unmet = parent, letter end
    f.parents[i] = {id = parent, state = state}
  end
  if group ~= '' and awaits_group(f.parents, group) then return 'circle', group, behind end
  local closed = group ~= '' and why_closed(group, ARGV[at + 9], ARGV[at + 10])
  if closed then return closed, group, behind end
  local replaced = ''
  if key ~= '' then
    local its = {key = key, point = ARGV[at + 12], period = tonumber(ARGV[at + 13]), rule = ARGV[at + 14],
                 at_most = tonumber(ARGV[at + 15]), delay = delay}
    local what, other = ask_for_key(id, its, new_jobs.named, new_jobs.ended)
    if what ~= 'stored' then return what, other, behind end
    local k = key_of(key)
    f.key, f.point, replaced = key, its.point, other
    if k.next_one == id then f.parents[#f.parents + 1], f.on, f.need = {id = k.owner, state = '0'}, 'sfd', #f.parents + 1 end
  end

  new_jobs.mine[id] = record
  new_jobs.records[#new_jobs.records + 1], new_jobs.records[#new_jobs.records + 2] = id, record
  if not new_jobs.is_known[queue] then
    new_jobs.is_known[queue], new_jobs.queues[#new_jobs.queues + 1] = true, queue
  end
  count_jobs(queue, 'enqueued', 1)
  f.has_children = earlier and earlier.has_children
  if group ~= '' then
    f.group, f.counted = group, '-'
    add_member(group, id)
  end
  local within, finish = tonumber(start_within) or 0, tonumber(finish_within) or 0
  if start_within ~= '' or finish_within ~= '' then
    f.clock = {start_within = start_within ~= '' and math.max(1, within) or 0, start_by = 0,
               finish_within = finish_within ~= '' and math.max(1, finish) or 0,
               finish_by = finish_within ~= '' and math.max(1, math.min(now + finish, longest)) or 0}
  end
  change_flow(id, f)
  for _, parent in ipairs(f.parents) do
    if parent.state < '3' then
      local its = flow_of(parent.id) or {}
      its.has_children = true
      change_flow(parent.id, its)
    end
  end
  put_edges(id, f)
  -- What comes too late is stored as ended.
  if f.clock and start_within ~= '' and #f.parents == 0 then f.clock.start_by = math.max(1, now + delay + within) end
  local ended_as, reason, cause = over_for(f, false)
  if ended_as then
    enter_final(id, queue, ended_as, reason, cause)
  elseif #f.parents == 0 then
    f.parents = nil
    enter_after_release(id, queue, {delay = delay})
    watch_clock(id, f, false)
  else
    local where = place_child(id, queue, f, unmet, letter_of_unmet)
    if where == 'unmet' then ended_as = 'd'
    elseif where == 'awaiting' then
      add_two(flow_plan.entering, sorted(line('awaiting', queue)), int_text(draw(1)), id)
      watch_clock(id, f, false)
    end
  end
  new_jobs.ends[id] = ended_as or ''
  if ended_as then new_jobs.ended[#new_jobs.ended + 1] = {id, ended_as} end
  return 'stored', replaced, behind
end
-- One that the end of another carries: nothing, or why it was not stored.
local why_not_stored = {there = 'another has its id', missing = 'its parent is not in the store: ', no_group = 'there is no group ',
                        circle = 'it would wait for itself, by its group ', sealed = 'this group is sealed: ', cancelled = 'this group was cancelled: ',
                        duplicate = 'its unique key is held by ', refused = 'its unique key is held by '}
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
