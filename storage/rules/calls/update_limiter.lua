-- Changes a limiter that is as it was read, within the span of time that the change was made for; parks, wakes, and
-- says when to look again.
-- ARGV[3]: limiter; [4]: version that was read; [5]: new state; [6], [7]: the span in microseconds, without its end.
-- Then the number of wakes, each as resource and count; the number of parks, each as id, fence and resource; the number
-- of those let in, each as id and fence; and the next checks, each as resource and instant, or empty for none.
-- Answer: 1 when it was changed; how many were woken; the hint; for each park a letter (p parked, s stale) and the
-- resource; for each let in a digit (1 stale); the limiter afterwards, see limiter_records.lua.
-- Invariants: all or nothing, by version and time; a run is parked as by take; one that was asked to end is deleted
-- instead, and stale.

-- Answers `count` rows of `size` values each, and the place behind them.
local function rows_at(args, at, size, count)
  local rows = {}
  for i = 1, count do
    rows[i] = {}
    for k = 1, size do rows[i][k] = args[at + k - 1] end
    at = at + size
  end
  return rows, at
end
-- What a change brings: rows as they stand in ARGV, and when its span ends.
local function read_change(args)
  local u, at = {until_ = args[7]}, 8
  u.wakes, at = rows_at(args, at + 1, 2, tonumber(args[at]))
  u.parks, at = rows_at(args, at + 1, 3, tonumber(args[at]))
  u.let_in, at = rows_at(args, at + 1, 2, tonumber(args[at]))
  u.moved = rows_at(args, at, 2, (#args - at + 1) / 2)
  return u
end

-- Looks at all that a change may touch before its first write; who was asked to end is deleted then.
local function look_before_writing(step, u)
  if #u.wakes + #u.parks > 0 then numbers.may_draw(step) end
  if step.has_flow then
    call('HLEN', step.keys.flow)
    call('HLEN', step.keys.held_keys)
    base.sorted(step, step.keys.agenda)
  end
  local ids, fences = {}, {}
  for i, one in ipairs(u.parks) do ids[i], fences[i] = one[1], one[2] end
  local asked = cancelling.asked_among(lists.many('HMGET', step.keys.runs, ids), ids, fences)
  if #asked > 0 then cancelling.end_before_begin(step, asked) end
end

-- Answers its letter, and the resource that it waits for. Whoever is parked now is added to `parked`.
local function park_one(step, id, fence, resource, parked)
  local row, a = call('HGET', step.keys.runs, id), admissions.admission_of(step, id) or admissions.no_admission
  local run = row and values.read_run(row)
  if fence == '0' then return 's', '' end
  if run and run.fence == fence then
    waiting.park_run(step, id, run, a, resource, {})
    parked[#parked + 1] = id
    return 'p', resource
  end
  if not row and a.at ~= '' and a.fence == fence then return 'p', a.at end
  return 's', ''
end
local function park_all(step, u)
  local told, parked = {}, {}
  for i, one in ipairs(u.parks) do
    told[2 * i - 1], told[2 * i] = park_one(step, one[1], one[2], one[3], parked)
  end
  if step.has_flow and #parked > 0 then continuations.tell_of_parked(step, parked) end
  return told
end
-- Answers a digit for each.
local function codes_of_let_in(step, u)
  local codes = {}
  for i, one in ipairs(u.let_in) do
    local row = call('HGET', step.keys.runs, one[1])
    codes[i] = row and one[2] ~= '0' and sub(row, 1, #one[2] + 1) == one[2] .. ' ' and '0' or '1'
  end
  return table.concat(codes)
end

-- It has a slot until then, in place of what it had of this resource.
local function give_slot(a, resource, until_)
  for i = #a.slots, 1, -1 do
    if a.slots[i].resource == resource then table.remove(a.slots, i) end
  end
  a.slots[#a.slots + 1] = {until_ = until_, resource = resource}
end
-- Answers how many were woken.
local function wake_all(step, u)
  local slots, until_ = 0, tonumber(u.until_)
  for _, one in ipairs(u.wakes) do
    local resource, count = one[1], tonumber(one[2])
    slots = slots + waiting.wake_first(step, resource, count, function(a) give_slot(a, resource, until_) end)
  end
  return slots
end

local function move_checks(step, u)
  for _, one in ipairs(u.moved) do
    local resource, instant = one[1], one[2]
    -- A line has a next check only while somebody waits there. Those whose queues do not run are looked at again when
    -- this step is over; those of whom this step does not know that their queues run again, at once.
    if instant == '' then instant = waiting.has_runnable_waiter(step, resource) and step.now_text or u.until_ end
    if call('ZSCORE', step.keys.waiting, resource) then
      call('ZADD', step.keys.next_checks, instant, resource)
    else
      call('ZREM', step.keys.next_checks, resource)
    end
  end
  if #u.moved > 0 then hints.has_work(step, '@') end  -- timers look when the next line opens
end

function calls.update_limiter(step)
  local args = step.args
  local name = args[3]
  admissions.check_throttlers(step)
  local version = match(call('HGET', step.keys.limiters, name) or '', '^(%d+) ') or '0'
  if version ~= args[4] or step.now < tonumber(args[6]) or step.now >= tonumber(args[7]) then
    return {0, 0, '', {}, '', limiter_records.limiter_record(step, name)}
  end
  local u = read_change(args)
  look_before_writing(step, u)
  base.say_layout(step)
  call('HSET', step.keys.limiters, name, base.int_text(version + 1) .. ' ' .. values.text(args[5]))
  local told_parks = park_all(step, u)
  local codes = codes_of_let_in(step, u)
  local slots = wake_all(step, u)
  move_checks(step, u)
  return {1, slots, hints.finish(step), told_parks, codes, limiter_records.limiter_record(step, name)}
end
