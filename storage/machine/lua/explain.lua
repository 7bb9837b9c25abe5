-- Reads.
-- What a job waits for. ARGV[3]: id; ARGV[4]: at most so many holders and waiters.
-- Answer: the job as get tells it; then 1 when its queue is paused, 1 when it is served, how many go first (one more
-- than max_counted: or more), how many of the queue run, and of a throttled job the resource it waits for, see
-- throttler_view.lua, of an awaiting one the parents that have not ended, and the instants by which one that waits must
-- have begun and ended, 0 for none. Of an awaiting one then: how many parents it has, how many it needs, how many ended
-- as it wants, and those open parents that are groups, see tell_group. Last, the group of one that waits, when that was
-- cancelled, or empty.
local id = ARGV[3]
local record = call('HGET', jobs, id)
if not record then
  if call('HEXISTS', quarantine, id) == 1 then return {{id}} end
  return {{}}
end
local at = place_of(id, record) or {kind = 'lost', score = '0', queue = queue_of(record) or ''}
local a = at.kind == 'throttled' and admission_of(id) or no_admission
local first = 0
-- A file counts one by one.
local function count(key)
  local beyond = call('ZRANGE', key, max_counted, max_counted, 'WITHSCORES')[2]
  local are_more = first > max_counted or (beyond and tonumber(beyond) < tonumber(at.score))
  first = are_more and max_counted + 1 or first + call('ZCOUNT', key, '-inf', '(' .. at.score)
end
if at.kind == 'front' then count(at.key)
elseif is_enqueued(at.kind) then
  first = call('ZCARD', line('front', at.queue))
  local kinds, keys = lines_of(at.queue)
  for i, kind in ipairs(kinds) do
    if kind ~= 'front' and is_enqueued(kind) then count(keys[i]) end
  end
elseif a.at ~= '' then
  for _, queue in ipairs(call('SMEMBERS', waits(a.at))) do count(wait_line(queue, a.at)) end
end
local open, groups_open, met = {}, {}, 0
local f = flow_of(id)
local parents = at.kind == 'awaiting' and f and f.parents or {}
for _, parent in ipairs(parents) do
  if parent.state == '0' then
    open[#open + 1] = parent.id
    if group_in(parent.id) then tell_group(group_in(parent.id), groups_open) end
  elseif parent.state == '1' or parent.state == '3' then met = met + 1 end
end
local p = read_history(call('HGET', history, id))
local waits = f and (is_enqueued(at.kind) or a.at ~= '' or at.kind == 'scheduled' or at.kind == 'awaiting')
local is_timed = waits and f.clock
local leaves = waits and f.group and group_of(f.group) and is_cancelled(f.group)
local until_ = tonumber(call('ZSCORE', served, at.queue) or '0')
return {{id, at.kind, at.score, record, call('HGET', history, id) or '', run_told(id, at.kind)},
        call('SISMEMBER', paused, at.queue), until_ > now and 1 or 0, math.min(first, max_counted + 1),
        call('ZCARD', line('processing', at.queue)),
        a.at ~= '' and throttler_view(a.at, tonumber(ARGV[4])) or {}, open,
        int_text(is_timed and not (p and has_begun(p)) and f.clock.start_by or 0),
        int_text(is_timed and f.clock.finish_by or 0), #parents, #parents > 0 and f.need or 0, met, groups_open,
        leaves and f.group or ''}
