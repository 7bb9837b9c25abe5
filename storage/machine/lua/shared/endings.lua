-- For what has to do with throttlers only now and then.

-- What ends or claims runs costs next to nothing while nobody has to do with a throttler.
local function admissions_if_any(ids)
  if #ids == 0 or call('HLEN', admission) == 0 then return {} end
  return on_demand().admissions_of(ids)
end
local function give_back_if_any(ids, had, inline_permits, is_final)
  if next(had) or next(inline_permits) then on_demand().give_back(ids, had, inline_permits, is_final) end
end

-- For whoever writes before it puts aside.
local function may_move_to_quarantine(queue)
  call('HLEN', jobs)
  call('HLEN', quarantine)
  call('SCARD', queues)
  sorted(line('quarantined', queue))
  sorted(agenda)
  call('HLEN', flow)
end
-- Puts ids aside that cannot be read, with their bytes, out of the given line.
local function move_to_quarantine(id, key, queue)
  local record, before, row = call('HGET', jobs, id), call('HGET', history, id), call('HGET', runs, id)
  may_move_to_quarantine(queue)
  on_demand().check_throttlers()
  if key then call('ZREM', key, id) end
  call('HDEL', jobs, id)
  call('HDEL', history, id)
  call('HDEL', runs, id)
  call('HSET', quarantine, id, text(record or '') .. text(before or '') .. text(row or ''))
  call('ZADD', line('quarantined', queue), now_text, id)
  call('SADD', queues, queue)
  if has_flow and call('HEXISTS', flow, id) == 1 then  -- it has failed, unless it had ended and owes that still
    local owes_it = call('ZSCORE', agenda, 'edges s ' .. id) or call('ZSCORE', agenda, 'edges d ' .. id)
    if not owes_it then call('ZADD', agenda, 0, 'edges f ' .. id) end
    has_work('@')
  end
  on_demand().forget_job(id, row)
end
-- In which queue's line of quarantine a job stands, and since when; nothing when it is in none. `bytes`: what is kept
-- of it, whose record most often names the queue.
local function place_in_quarantine(id, bytes)
  local home = queue_of(text_at(bytes, 1) or '') or default_queue
  local since = call('ZSCORE', line('quarantined', home), id)
  if since then return home, since end
  for _, queue in ipairs(call('SMEMBERS', queues)) do
    since = call('ZSCORE', line('quarantined', queue), id)
    if since then return queue, since end
  end
end
