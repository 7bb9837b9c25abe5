-- For what has to do with throttlers only now and then.

-- What ends or claims runs costs next to nothing while nobody has to do with a throttler.
local function admissions_if_any(ids)
  if #ids == 0 or call('HLEN', admission) == 0 then return {} end
  return throttling().admissions_of(ids)
end
local function give_back_if_any(ids, had, inline_permits, is_final)
  if next(had) or next(inline_permits) then throttling().give_back(ids, had, inline_permits, is_final) end
end

-- For whoever writes before it puts aside.
local function may_move_to_quarantine(queue)
  call('HLEN', jobs)
  call('HLEN', quarantine)
  call('SCARD', queues)
  sorted(line('quarantined', queue))
end
-- Puts ids aside that cannot be read, with their bytes, out of the given line.
local function move_to_quarantine(id, key, queue)
  local record, before, row = call('HGET', jobs, id), call('HGET', history, id), call('HGET', runs, id)
  may_move_to_quarantine(queue)
  throttling().check_throttlers()
  if key then call('ZREM', key, id) end
  call('HDEL', jobs, id)
  call('HDEL', history, id)
  call('HDEL', runs, id)
  call('HSET', quarantine, id, text(record or '') .. text(before or '') .. text(row or ''))
  call('ZADD', line('quarantined', queue), now_text, id)
  call('SADD', queues, queue)
  throttling().forget_job(id, row)
end
