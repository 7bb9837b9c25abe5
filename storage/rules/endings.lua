-- For what has to do with throttlers only now and then.
local text = values.text
local line = places.line

-- What ends or claims runs costs next to nothing while nobody has to do with a throttler.
function endings.admissions_if_any(step, ids)
  if #ids == 0 or call('HLEN', step.keys.admission) == 0 then return {} end
  return admissions.admissions_of(step, ids)
end
function endings.give_back_if_any(step, ids, had, inline_permits, is_final)
  if next(had) or next(inline_permits) then waiting.give_back(step, ids, had, inline_permits, is_final) end
end

-- For whoever writes before it puts aside.
function endings.may_move_to_quarantine(step, queue)
  call('HLEN', step.keys.jobs)
  call('HLEN', step.keys.quarantine)
  call('SCARD', step.keys.queues)
  base.sorted(step, line(step, 'quarantined', queue))
  base.sorted(step, step.keys.agenda)
  call('HLEN', step.keys.flow)
end
-- Puts ids aside that cannot be read, with their bytes, out of the given line.
function endings.move_to_quarantine(step, id, key, queue)
  local record, before, row = call('HGET', step.keys.jobs, id), call('HGET', step.keys.history, id),
    call('HGET', step.keys.runs, id)
  endings.may_move_to_quarantine(step, queue)
  admissions.check_throttlers(step)
  if key then call('ZREM', key, id) end
  call('HDEL', step.keys.jobs, id)
  call('HDEL', step.keys.history, id)
  call('HDEL', step.keys.runs, id)
  call('HSET', step.keys.quarantine, id, text(record or '') .. text(before or '') .. text(row or ''))
  call('ZADD', line(step, 'quarantined', queue), step.now_text, id)
  call('SADD', step.keys.queues, queue)
  -- it has failed, unless it had ended and owes that still
  if step.has_flow and call('HEXISTS', step.keys.flow, id) == 1 then
    local owes_it = call('ZSCORE', step.keys.agenda, 'edges s ' .. id) or
      call('ZSCORE', step.keys.agenda, 'edges d ' .. id)
    if not owes_it then call('ZADD', step.keys.agenda, 0, 'edges f ' .. id) end
    hints.has_work(step, '@')
  end
  waiting.forget_job(step, id, row)
end
-- In which queue's line of quarantine a job stands, and since when; nothing when it is in none. `bytes`: what is kept
-- of it, whose record most often names the queue.
function endings.place_in_quarantine(step, id, bytes)
  local home = values.queue_of(values.text_at(bytes, 1) or '') or constants.default_queue
  local since = call('ZSCORE', line(step, 'quarantined', home), id)
  if since then return home, since end
  for _, queue in ipairs(call('SMEMBERS', step.keys.queues)) do
    since = call('ZSCORE', line(step, 'quarantined', queue), id)
    if since then return queue, since end
  end
end
