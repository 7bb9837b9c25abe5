-- What is kept of a job that could not be read: its record, history and run, each as "length:bytes". Nothing when it is
-- not in quarantine.
function by_name.quarantined_job(step, asked)
  local bytes = call('HGET', step.keys.quarantine, asked.id)
  if not bytes then return {} end
  local queue, since = places.place_in_quarantine(step, asked.id, bytes)
  return {queue = queue, since = since and base.int_text(tonumber(since)) or nil, bytes = bytes}
end
