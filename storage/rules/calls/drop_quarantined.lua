-- Removes what is kept of a job that could not be read, for good.
-- `since`, as `quarantined_job` told it: what was put aside at another time stays.
-- Answers what is `said`: gone; none, when it was not there; or awaited, and nothing was changed: others have yet to be
-- told of its end, or may still ask how it ended. Passes when memory is out.
function by_name.drop_quarantined(step, asked)
  local id = asked.id
  local bytes = call('HGET', step.keys.quarantine, id)
  local queue, since = places.place_in_quarantine(step, id, bytes or '')
  local is_there = bytes or queue
  local told = since and tonumber(since) or 0
  if not is_there or asked.since and base.int_text(asked.since) ~= base.int_text(told) then
    return {said = 'none'}
  end
  -- Unless another has its id by now, what it has to do with others goes with it.
  if step.has_flow and call('HEXISTS', step.keys.jobs, id) == 0 then
    for _, letter in ipairs({'s', 'f', 'd'}) do
      if call('ZSCORE', step.keys.agenda, 'edges ' .. letter .. ' ' .. id) then return {said = 'awaited'} end
    end
    flow.read_flows(step, {id})
    if not continuations.may_be_forgotten(step, id) then return {said = 'awaited'} end
    continuations.forget_flow(step, {id})
  end
  if queue then call('ZREM', places.line(step, 'quarantined', queue), id) end
  call('HDEL', step.keys.quarantine, id)
  return {said = 'gone'}
end
