-- What a job waits for. ARGV[3]: id; ARGV[4]: at most so many holders and waiters.
-- Answer: the job as get tells it; then 1 when its queue is paused, 1 when it is served, how many go first (one more
-- than max_counted: or more), how many of the queue run, and of a throttled job the resource it waits for, see
-- throttler_views.lua, of an awaiting one the parents that have not ended, and the instants by which one that waits
-- must have begun and ended, 0 for none. Of an awaiting one then: how many parents it has, how many it needs, how many
-- ended as it wants, and those open parents that are groups, see tell_group. Last, the group of one that waits, when
-- that was cancelled, or empty.
local is_enqueued = places.is_enqueued

function calls.explain(step)
  local args = step.args
  local id = args[3]
  local record = call('HGET', step.keys.jobs, id)
  if not record then
    if call('HEXISTS', step.keys.quarantine, id) == 1 then return {{id}} end
    return {{}}
  end
  local at = places.place_of(step, id, record) or {kind = 'lost', score = '0', queue = values.queue_of(record) or ''}
  local a = at.kind == 'throttled' and admissions.admission_of(step, id) or admissions.no_admission
  local first = 0
  -- A file counts one by one.
  local function count(key)
    local beyond = call('ZRANGE', key, constants.max_counted, constants.max_counted, 'WITHSCORES')[2]
    local are_more = first > constants.max_counted or (beyond and tonumber(beyond) < tonumber(at.score))
    first = are_more and constants.max_counted + 1 or first + call('ZCOUNT', key, '-inf', '(' .. at.score)
  end
  if at.kind == 'front' then count(at.key)
  elseif is_enqueued(at.kind) then
    first = call('ZCARD', places.line(step, 'front', at.queue))
    local kinds, its_lines = places.lines_of(step, at.queue)
    for i, kind in ipairs(kinds) do
      if kind ~= 'front' and is_enqueued(kind) then count(its_lines[i]) end
    end
  elseif a.at ~= '' then
    for _, queue in ipairs(call('SMEMBERS', keys.waits(step, a.at))) do
      count(keys.wait_line(step, queue, a.at))
    end
  end
  local open, groups_open, met = {}, {}, 0
  local f = flow.flow_of(step, id)
  local parents = at.kind == 'awaiting' and f and f.parents or {}
  for _, parent in ipairs(parents) do
    if parent.state == '0' then
      open[#open + 1] = parent.id
      if groups.group_in(parent.id) then groups.tell_group(step, groups.group_in(parent.id), groups_open) end
    elseif parent.state == '1' or parent.state == '3' then met = met + 1 end
  end
  local p = values.read_history(call('HGET', step.keys.history, id))
  local waits = f and (is_enqueued(at.kind) or a.at ~= '' or at.kind == 'scheduled' or at.kind == 'awaiting')
  local is_timed = waits and f.clock
  local leaves = waits and f.group and groups.group_of(step, f.group) and groups.is_cancelled(step, f.group)
  local until_ = tonumber(call('ZSCORE', step.keys.served, at.queue) or '0')
  return {{id, at.kind, at.score, record, call('HGET', step.keys.history, id) or '',
           places.run_told(step, id, at.kind)},
          call('SISMEMBER', step.keys.paused, at.queue), until_ > step.now and 1 or 0,
            math.min(first, constants.max_counted + 1),
          call('ZCARD', places.line(step, 'processing', at.queue)),
          a.at ~= '' and throttler_views.throttler_view(step, a.at, tonumber(args[4])) or {}, open,
          base.int_text(is_timed and not (p and clocks.has_begun(p)) and f.clock.start_by or 0),
          base.int_text(is_timed and f.clock.finish_by or 0), #parents, #parents > 0 and f.need or 0, met, groups_open,
          leaves and f.group or ''}
end
