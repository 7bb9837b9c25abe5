-- Writes, and its answer is a promise.
-- Changes a schedule when it is as it was read, and enqueues what is due of it.
-- ARGV[3]: name; [4]: the version that was read, 0 for none; [5]: the record, empty to remove it; [6]: the instant at
-- which it is due next, or empty; [7]: its place as "offset span number", or empty; [8]: empty, or the largest number
-- of all places, for which this one was chosen: then it is given a number of its own; [9]: allow, skip or queue_one;
-- [10]: how many jobs; [11]: 1 when they have to do with others, or with time; then the instant of each, and then each as
-- enqueue.lua has them, or flow_jobs.lua.
-- Answer: 1 when it was changed; now; 1 when the schedule is there; how it stands, see schedule_view.lua; for each job
-- e (enqueued), t (its id was there) or o (it would overlap, or is not stored for another reason, as that its unique key
-- is held).
-- Invariants: a name is in `schedule_names` with its schedule, in `firing` and `places` only with one. Of an occurrence
-- that is enqueued, the schedule has moved on in the same step.
local name, version, record, next_at, place, among, rule =
  ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local function told(updated, codes)
  return {updated, now_text, call('HEXISTS', schedules, name), schedule_view(name), codes}
end
call('ZCARD', firing)
call('ZCARD', schedule_names)
call('HLEN', even_places)
local before = schedule_of(name)
if (before and before.version or '0') ~= version then return told(0, '') end
if among ~= '' then
  local largest = 0
  for _, one in ipairs(call('HVALS', even_places)) do
    largest = math.max(largest, tonumber(match(one, '^%d+ %d+ (%d+)$') or '0'))
  end
  if largest ~= tonumber(among) then return told(0, '') end
end
if record == '' then
  begin_freeing()
  call('HDEL', schedules, name)
  call('ZREM', schedule_names, name)
  call('HDEL', even_places, name)
  call('ZREM', firing, name)
  return told(1, '')
end

-- Whether one of its jobs is not final, and whether one of these does not run.
local going_on, waits_now = false, false
local function occupy(kind)
  for _, final in ipairs(final_kinds) do
    if kind == final then return end
  end
  going_on, waits_now = true, waits_now or kind ~= 'processing'
end
local runs, made = before and before.runs or '', before and math.min(before.n, runs_remembered) or 0
if rule ~= 'allow' then
  local id, rest = first_run(runs)
  for _ = 1, made do
    if not id then break end
    local its = call('HGET', jobs, id)
    local place_now = its and place_of(id, its)
    if place_now then occupy(place_now.kind) end
    id, rest = first_run(rest)
  end
end

local count, is_flow, codes, at, chosen = tonumber(ARGV[10]), ARGV[11] == '1', {}, {}, {}
local behind = 12 + count
for n = 1, count do
  local from = behind
  behind = is_flow and on_demand().read_new(from, from) or from + 4
  local there = call('HGET', jobs, ARGV[from])
  if chosen[ARGV[from]] or there and not is_half_stored(ARGV[from], there) then
    codes[n] = 't'
  elseif (rule == 'skip' and going_on) or (rule == 'queue_one' and waits_now) then
    codes[n] = 'o'
  elseif is_flow and on_demand().plan_new(from) ~= 'stored' then
    codes[n] = 'o'
  else
    codes[n] = 'e'
    chosen[ARGV[from]] = true
    at[#at + 1] = from
    runs, made = runs .. text(ARGV[from]) .. ARGV[11 + n] .. ' ', made + 1
    occupy('ready')
  end
end
while made > runs_remembered do
  local _, rest = first_run(runs)
  runs, made = rest or '', made - 1
end

may_draw()
say_layout()
local stored = #at > 0
if is_flow then
  on_demand().plan_new_ends()
  keep_totals(job_counts)
  on_demand().write_new()
  on_demand().carry_out_ends()
else
  store_new(at)
end
call('HSET', schedules, name, int_text(draw(1)) .. ' ' .. int_text(made) .. ' ' .. text(record) .. runs)
call('ZADD', schedule_names, 0, name)
if next_at ~= '' then call('ZADD', firing, next_at, name) else call('ZREM', firing, name) end
if place == '' then call('HDEL', even_places, name)
elseif among ~= '' then call('HSET', even_places, name, match(place, '^%d+ %d+ ') .. int_text(draw(1)))
else call('HSET', even_places, name, place) end
if next_at ~= '' and (stored or count == 0) then has_work('@') end
finish()
return told(1, table.concat(codes))
