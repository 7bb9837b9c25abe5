-- Writes.
-- Changes a limiter that is as it was read, within the span of time that the change was made for; parks, wakes, and says
-- when to look again.
-- ARGV[3]: limiter; [4]: version that was read; [5]: new state; [6], [7]: the span in microseconds, without its end. Then
-- the number of wakes, each as resource and count; the number of parks, each as id, fence and resource; the number of
-- those let in, each as id and fence; and the next checks, each as resource and instant, or empty for none.
-- Answer: 1 when it was changed; how many were woken; the hint; for each park a letter (p
-- parked, s stale) and the resource; for each let in a digit (1 stale); the limiter afterwards, see limiter_record.lua.
-- Invariants: all or nothing, by version and time; a run is parked as by take; one that was asked to end is deleted
-- instead, and stale.
begin_freeing()
local name, at = ARGV[3], 8
check_throttlers()
local version, from = match(call('HGET', limiters, name) or '', '^(%d+) ()')
version = version or '0'
if version ~= ARGV[4] or now < tonumber(ARGV[6]) or now >= tonumber(ARGV[7]) then
  return {0, 0, '', {}, '', limiter_record(name)}
end

local function list_of(size, count)
  local list = {}
  for i = 1, count do
    list[i] = {}
    for k = 1, size do list[i][k] = ARGV[at + k - 1] end
    at = at + size
  end
  return list
end
at = at + 1
local wakes = list_of(2, tonumber(ARGV[at - 1]))
at = at + 1
local parks = list_of(3, tonumber(ARGV[at - 1]))
at = at + 1
local let_in = list_of(2, tonumber(ARGV[at - 1]))
local moved = list_of(2, (#ARGV - at + 1) / 2)

if #wakes + #parks > 0 then may_draw() end
if has_flow then
  call('HLEN', flow)
  call('HLEN', held_keys)
  sorted(agenda)
end
local ids, fences = {}, {}
for i, one in ipairs(parks) do ids[i], fences[i] = one[1], one[2] end
local asked = asked_among(many('HMGET', runs, ids), ids, fences)
if #asked > 0 then on_demand().end_before_begin(asked) end
say_layout()
call('HSET', limiters, name, int_text(version + 1) .. ' ' .. text(ARGV[5]))
local told_parks = {}
local parked = {}
for i, asked in ipairs(parks) do
  local id, fence, resource = asked[1], asked[2], asked[3]
  local row, a = call('HGET', runs, id), admission_of(id) or no_admission
  local run = row and read_run(row)
  local letter = 's'
  if fence == '0' then resource = ''
  elseif run and run.fence == fence then
    letter = 'p'
    park_run(id, run, a, resource, {})
    parked[#parked + 1] = id
  elseif not row and a.at ~= '' and a.fence == fence then letter, resource = 'p', a.at
  else resource = '' end
  told_parks[2 * i - 1], told_parks[2 * i] = letter, resource
end
if has_flow and #parked > 0 then on_demand().tell_of_parked(parked) end
local codes = {}
for i, asked in ipairs(let_in) do
  local row = call('HGET', runs, asked[1])
  codes[i] = row and asked[2] ~= '0' and sub(row, 1, #asked[2] + 1) == asked[2] .. ' ' and '0' or '1'
end
local slots, until_ = 0, tonumber(ARGV[7])
for _, asked in ipairs(wakes) do
  local resource = asked[1]
  slots = slots + wake_first(resource, tonumber(asked[2]), function(a)
    for i = #a.slots, 1, -1 do
      if a.slots[i].resource == resource then table.remove(a.slots, i) end
    end
    a.slots[#a.slots + 1] = {until_ = until_, resource = resource}
  end)
end
for _, o in ipairs(moved) do
  -- A line has a next check only while somebody waits there. Those whose queues do not run are looked at again when this
  -- step is over; those of whom this step does not know that their queues run again, at once.
  local instant = o[2]
  if instant == '' then instant = has_runnable_waiter(o[1]) and now_text or ARGV[7] end
  if call('ZSCORE', waiting, o[1]) then
    call('ZADD', next_checks, instant, o[1])
  else
    call('ZREM', next_checks, o[1])
  end
end
if #moved > 0 then has_work('@') end  -- timers look when the next line opens
return {1, slots, finish(), told_parks, table.concat(codes), limiter_record(name)}
