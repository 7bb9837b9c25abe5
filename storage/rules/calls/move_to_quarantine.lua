-- Moves a record that could not be read into quarantine.
-- ARGV[3]: id. ARGV[4], ARGV[5]: its record and history as they were read (no history: it was not looked at); who was
-- changed since stays.
-- Answer: the hint.
function calls.move_to_quarantine(step)
  local args = step.args
  local id = args[3]
  local record, before = call('HGET', step.keys.jobs, id) or '', call('HGET', step.keys.history, id) or ''
  if record == args[4] and (args[5] == '' or before == args[5]) then
    changes.put_job_aside(step, id, record, places.place_of(step, id, record))
    changes.commit(step)
  end
  return hints.finish(step)
end
