-- Changes a schedule when it is as it was read, and enqueues what is due of it.
-- Behind what is asked, from ARGV[4], stand the new jobs: each as enqueue.lua has them, or, with `is_flow`, as
-- flow_jobs.lua does.
-- `each` job is enqueued, there (its id was), or overlaps (or is not stored for another reason, as that its unique key
-- is held).
-- Invariants: a name is in `schedule_names` with its schedule, in `firing` and `places` only with one. Of an occurrence
-- that is enqueued, the schedule has moved on in the same step.
local int_text = base.int_text

-- A change while it is made: what it asks for, and what becomes of its jobs.
local function new_change(asked)
  return {name = asked.name, version = asked.version, record = asked.record,
          next_at = asked.next_at and int_text(asked.next_at), place = asked.place,
          among = asked.expected_last_place, rule = asked.overlap, jobs = asked.enqueue, is_flow = asked.is_flow,
          runs = {},            -- the jobs that it made last
          going_on = false,     -- one of these is not final
          waits_now = false,    -- one of those does not run
          codes = {}, chosen = {}, at = {}}  -- what becomes of its jobs; those to be enqueued, by id; where these begin
end
local function told(step, s, updated, codes)
  return {updated = updated, now = step.now_text, row = schedule_views.found(step, s.name), each = codes}
end

-- Whether it stands as it was read, and so do all places when its own was chosen for them.
local function is_as_read(step, s, before)
  if (before and before.version or 0) ~= s.version then return false end
  if not s.among then return true end
  local largest = 0
  for _, one in ipairs(call('HVALS', step.keys.even_places)) do
    largest = math.max(largest, (schedule_views.place_of(one) or {number = 0}).number)
  end
  return largest == s.among
end
local function remove(step, s)
  call('HDEL', step.keys.schedules, s.name)
  call('ZREM', step.keys.schedule_names, s.name)
  call('HDEL', step.keys.even_places, s.name)
  call('ZREM', step.keys.firing, s.name)
end

-- A job of the schedule stands in a line of this kind.
local function occupy(s, kind)
  if places.is_final(kind) then return end
  s.going_on, s.waits_now = true, s.waits_now or kind ~= 'processing'
end
local function look_at_runs(step, s)
  if s.rule == 'allow' then return end
  for _, run in ipairs(s.runs) do
    local its = call('HGET', step.keys.jobs, run.id)
    local place_now = its and places.place_of(step, run.id, its)
    if place_now then occupy(s, place_now.kind) end
  end
end

-- What becomes of the job that begins there.
local function code_of(step, s, from)
  local id = step.args[from]
  local there = call('HGET', step.keys.jobs, id)
  if s.chosen[id] or there and not places.is_half_stored(step, id, there) then return 'there' end
  if s.rule == 'skip' and s.going_on or s.rule == 'queue_one' and s.waits_now then return 'overlaps' end
  if s.is_flow and flow_jobs.plan_new(step, from) ~= 'stored' then return 'overlaps' end
  return 'enqueued'
end
local function plan_jobs(step, s)
  local args, behind = step.args, 4
  for n, job in ipairs(s.jobs) do
    local from = behind
    behind = s.is_flow and flow_jobs.read_new(step, from, from) or from + 4
    s.codes[n] = code_of(step, s, from)
    if s.codes[n] == 'enqueued' then
      s.chosen[args[from]] = true
      s.at[#s.at + 1] = from
      s.runs[#s.runs + 1] = {id = args[from], at = job.at}
      occupy(s, 'ready')
    end
  end
  while #s.runs > constants.runs_remembered do table.remove(s.runs, 1) end
end

local function write_jobs(step, s)
  if s.is_flow then changes.commit(step) else new_jobs.store_new(step, s.at) end
end
local function write_schedule(step, s)
  call('HSET', step.keys.schedules, s.name,
       pack_value({version = numbers.draw(step, 1), record = s.record, runs = s.runs}))
  call('ZADD', step.keys.schedule_names, 0, s.name)
  if s.next_at then
    call('ZADD', step.keys.firing, s.next_at, s.name)
  else
    call('ZREM', step.keys.firing, s.name)
  end
  if s.place then
    if s.among then s.place.number = numbers.draw(step, 1) end
    call('HSET', step.keys.even_places, s.name, pack_value(s.place))
  else
    call('HDEL', step.keys.even_places, s.name)
  end
  if s.next_at and (#s.at > 0 or #s.jobs == 0) then hints.has_work(step, '@') end
end

function by_name.update_schedule(step, asked)
  local s = new_change(asked)
  call('ZCARD', step.keys.firing)
  call('ZCARD', step.keys.schedule_names)
  call('HLEN', step.keys.even_places)
  local before = schedule_views.schedule_of(step, s.name)
  if not is_as_read(step, s, before) then return told(step, s, false, {}) end
  if not s.record then
    remove(step, s)
    return told(step, s, true, {})
  end
  if before then s.runs = before.runs end
  look_at_runs(step, s)
  plan_jobs(step, s)

  numbers.may_draw(step)
  base.say_layout(step)
  write_jobs(step, s)
  write_schedule(step, s)
  return told(step, s, true, s.codes)
end
