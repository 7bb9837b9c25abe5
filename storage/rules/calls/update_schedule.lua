-- Changes a schedule when it is as it was read, and enqueues what is due of it.
-- ARGV[3]: name; [4]: the version that was read, 0 for none; [5]: the record, empty to remove it; [6]: the instant at
-- which it is due next, or empty; [7]: its place as "offset span number", or empty; [8]: empty, or the largest number
-- of all places, for which this one was chosen: then it is given a number of its own; [9]: allow, skip or queue_one;
-- [10]: how many jobs; [11]: 1 when they have to do with others, or with time; then the instant of each, and then each
-- as enqueue.lua has them, or flow_jobs.lua.
-- Answer: 1 when it was changed; now; 1 when the schedule is there; how it stands, see schedule_views.lua; for each job
-- e (enqueued), t (its id was there) or o (it would overlap, or is not stored for another reason, as that its unique
-- key is held).
-- Invariants: a name is in `schedule_names` with its schedule, in `firing` and `places` only with one. Of an occurrence
-- that is enqueued, the schedule has moved on in the same step.
local int_text = base.int_text
local first_run = schedule_views.first_run

-- A change while it is made: what it asks for, and what becomes of its jobs.
local function read_change(args)
  return {name = args[3], version = args[4], record = args[5], next_at = args[6], place = args[7], among = args[8],
          rule = args[9], count = tonumber(args[10]), is_flow = args[11] == '1',
          runs = '', made = 0,  -- the jobs that it made last, as they stand in the schedule, and their number
          going_on = false,     -- one of these is not final
          waits_now = false,    -- one of those does not run
          codes = {}, chosen = {}, at = {}}  -- of its jobs: the letters; by id, those to be enqueued; where these begin
end
local function told(step, s, updated, codes)
  return {updated, step.now_text, call('HEXISTS', step.keys.schedules, s.name),
          schedule_views.schedule_view(step, s.name), codes}
end

-- Whether it stands as it was read, and so do all places when its own was chosen for them.
local function is_as_read(step, s, before)
  if (before and before.version or '0') ~= s.version then return false end
  if s.among == '' then return true end
  local largest = 0
  for _, one in ipairs(call('HVALS', step.keys.even_places)) do
    largest = math.max(largest, tonumber(match(one, '^%d+ %d+ (%d+)$') or '0'))
  end
  return largest == tonumber(s.among)
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
  local id, rest = first_run(s.runs)
  for _ = 1, s.made do
    if not id then return end
    local its = call('HGET', step.keys.jobs, id)
    local place_now = its and places.place_of(step, id, its)
    if place_now then occupy(s, place_now.kind) end
    id, rest = first_run(rest)
  end
end

-- What becomes of the job that begins there.
local function code_of(step, s, from)
  local id = step.args[from]
  local there = call('HGET', step.keys.jobs, id)
  if s.chosen[id] or there and not places.is_half_stored(step, id, there) then return 't' end
  if s.rule == 'skip' and s.going_on or s.rule == 'queue_one' and s.waits_now then return 'o' end
  if s.is_flow and flow_jobs.plan_new(step, from) ~= 'stored' then return 'o' end
  return 'e'
end
local function plan_jobs(step, s)
  local args, behind = step.args, 12 + s.count
  for n = 1, s.count do
    local from = behind
    behind = s.is_flow and flow_jobs.read_new(step, from, from) or from + 4
    s.codes[n] = code_of(step, s, from)
    if s.codes[n] == 'e' then
      s.chosen[args[from]] = true
      s.at[#s.at + 1] = from
      s.runs, s.made = s.runs .. values.text(args[from]) .. args[11 + n] .. ' ', s.made + 1
      occupy(s, 'ready')
    end
  end
  while s.made > constants.runs_remembered do
    local _, rest = first_run(s.runs)
    s.runs, s.made = rest or '', s.made - 1
  end
end

local function write_jobs(step, s)
  if s.is_flow then changes.commit(step) else new_jobs.store_new(step, s.at) end
end
local function write_schedule(step, s)
  call('HSET', step.keys.schedules, s.name, int_text(numbers.draw(step, 1)) .. ' ' .. int_text(s.made) .. ' ' ..
             values.text(s.record) .. s.runs)
  call('ZADD', step.keys.schedule_names, 0, s.name)
  if s.next_at ~= '' then
    call('ZADD', step.keys.firing, s.next_at, s.name)
  else
    call('ZREM', step.keys.firing, s.name)
  end
  if s.place == '' then
    call('HDEL', step.keys.even_places, s.name)
  elseif s.among ~= '' then
    call('HSET', step.keys.even_places, s.name, match(s.place, '^%d+ %d+ ') .. int_text(numbers.draw(step, 1)))
  else
    call('HSET', step.keys.even_places, s.name, s.place)
  end
  if s.next_at ~= '' and (#s.at > 0 or s.count == 0) then hints.has_work(step, '@') end
end

function calls.update_schedule(step)
  local s = read_change(step.args)
  call('ZCARD', step.keys.firing)
  call('ZCARD', step.keys.schedule_names)
  call('HLEN', step.keys.even_places)
  local before = schedule_views.schedule_of(step, s.name)
  if not is_as_read(step, s, before) then return told(step, s, 0, '') end
  if s.record == '' then
    remove(step, s)
    return told(step, s, 1, '')
  end
  if before then s.runs, s.made = before.runs, math.min(before.n, constants.runs_remembered) end
  look_at_runs(step, s)
  plan_jobs(step, s)

  numbers.may_draw(step)
  base.say_layout(step)
  write_jobs(step, s)
  write_schedule(step, s)
  hints.finish(step)
  return told(step, s, 1, table.concat(s.codes))
end
