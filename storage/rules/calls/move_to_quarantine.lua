-- Moves a record that could not be read into quarantine.
-- ARGV[3]: id. ARGV[4], ARGV[5]: its record and history as they were read (no history: it was not looked at); who was
-- changed since stays.
-- Answer: the hint.
function calls.move_to_quarantine(step)
  local args = step.args
  local id = args[3]
  local record, before = call('HGET', step.keys.jobs, id) or '', call('HGET', step.keys.history, id) or ''
  if record == args[4] and (args[5] == '' or before == args[5]) then
    local at = places.place_of(step, id, record)
    if at and at.kind == 'scheduled' then base.sorted(step, step.keys.due) end
    endings.move_to_quarantine(step, id, at and at.key, at and at.queue or values.queue_of(record) or 'default')
    if at and at.kind == 'scheduled' then places.refresh_due(step, at.queue) end
  end
  return hints.finish(step)
end
