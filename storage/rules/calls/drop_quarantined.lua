-- Removes what is kept of a job that could not be read, for good.
-- ARGV[3]: id. ARGV[4]: since when, as `quarantined_job` told it: what was put aside later stays; empty: whenever.
-- Answer: gone; none, when it was not there; or awaited, and nothing was changed: others have yet to be told of its
-- end, or may still ask how it ended. Passes when memory is out.
function calls.drop_quarantined(step)
  local args = step.args
  local id = args[3]
  local bytes = call('HGET', step.keys.quarantine, id)
  local queue, since = places.place_in_quarantine(step, id, bytes or '')
  local is_there = bytes or queue
  if not is_there or args[4] ~= '' and args[4] ~= (since and base.int_text(tonumber(since)) or '0') then
    return 'none'
  end
  -- Unless another has its id by now, what it has to do with others goes with it.
  if step.has_flow and call('HEXISTS', step.keys.jobs, id) == 0 then
    for _, letter in ipairs({'s', 'f', 'd'}) do
      if call('ZSCORE', step.keys.agenda, 'edges ' .. letter .. ' ' .. id) then return 'awaited' end
    end
    flow.read_flows(step, {id})
    if not continuations.may_be_forgotten(step, id) then return 'awaited' end
    continuations.forget_flow(step, {id})
  end
  if queue then call('ZREM', places.line(step, 'quarantined', queue), id) end
  call('HDEL', step.keys.quarantine, id)
  return 'gone'
end
