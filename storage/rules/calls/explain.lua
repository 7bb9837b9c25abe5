-- What a job waits for, as an explain_answer, beside the job as it is stored.
local is_enqueued = places.is_enqueued

function by_name.explain(step, asked)
  local id = asked.id
  local its, at = places.stored_job(step, id)
  if not at then return {job = its} end
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
      local group = groups.group_in(parent.id)
      if group then groups_open[#groups_open + 1] = groups.status(step, group) end
    elseif parent.state == '1' or parent.state == '3' then met = met + 1 end
  end
  local p = values.read_history(its.history)
  local waits = f and (is_enqueued(at.kind) or a.at ~= '' or at.kind == 'scheduled' or at.kind == 'awaiting')
  local is_timed = waits and f.clock
  local leaves = waits and f.group and groups.group_of(step, f.group) and groups.is_cancelled(step, f.group)
  local until_ = tonumber(call('ZSCORE', step.keys.served, at.queue) or '0')
  return {job = its, paused = call('SISMEMBER', step.keys.paused, at.queue), served = until_ > step.now,
          before = math.min(first, constants.max_counted + 1),
          running = call('ZCARD', places.line(step, 'processing', at.queue)),
          waits_for = a.at ~= '' and throttler_views.throttler_view(step, a.at, asked.limit) or nil,
          open_parents = open,
          start_by = is_timed and not (p and clocks.has_begun(p)) and clocks.told(f.clock.start_by) or nil,
          finish_by = is_timed and clocks.told(f.clock.finish_by) or nil,
          parents = #parents, need = #parents > 0 and f.need or 0, met = met, open_groups = groups_open,
          cancelled_group = leaves and f.group or nil}
end
