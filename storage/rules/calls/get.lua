-- ARGV[3]: id.
-- Answer: id, line, score, record, history or empty, run or, of a throttled job, admission; then its admission or
-- empty; and what it has to do with others and with time, when it has: its group or empty, its unique key or empty, the
-- instants by which it must have begun and be over, 0 for none, then each parent and its digit, see flow.lua. Only
-- the id when it is in quarantine; nothing when there is no such job.
function calls.get(step)
  local args = step.args
  local id = args[3]
  local record = call('HGET', step.keys.jobs, id)
  if not record then
    if call('HEXISTS', step.keys.quarantine, id) == 1 then return {id} end
    return {}
  end
  local at = places.place_of(step, id, record) or {kind = 'lost', score = '0'}
  local f, told = step.has_flow and flow.flow_of(step, id), {}
  if f then
    local clock = f.clock or {start_by = 0, finish_by = 0}
    told = {f.group or '', f.key or '', base.int_text(clock.start_by), base.int_text(clock.finish_by)}
    for _, parent in ipairs(f.parents or {}) do told[#told + 1], told[#told + 2] = parent.id, parent.state end
  end
  return {id, at.kind, at.score, record, call('HGET', step.keys.history, id) or '',
          places.run_told(step, id, at.kind),
          call('HGET', step.keys.admission, id) or '', told}
end
