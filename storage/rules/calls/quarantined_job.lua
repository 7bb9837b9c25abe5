-- What is kept of a job that could not be read. ARGV[3]: id.
-- Answer: its queue, or empty; since when, or 0; and record, history and run, each as "length:bytes". Nothing when it
-- is not in quarantine.
function calls.quarantined_job(step)
  local args = step.args
  local bytes = call('HGET', step.keys.quarantine, args[3])
  if not bytes then return {} end
  local queue, since = places.place_in_quarantine(step, args[3], bytes)
  return {queue or '', since and base.int_text(tonumber(since)) or '0', bytes}
end
