-- Reads.
-- Answer, for each queue: its name, 1 when paused, and how many jobs are enqueued, scheduled, throttled, processing,
-- succeeded, failed, deleted, in quarantine and awaiting; and when the first that waits became ready, 0 when none does.
local answer = {}
for _, queue in ipairs(call('SMEMBERS', queues)) do
  local n, waiting, oldest = #answer, 0, nil
  local function look(key)
    local first = tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if first then
      waiting, oldest = waiting + call('ZCARD', key), math.min(first, oldest or first)
    end
  end
  for _, kind in ipairs({'ready', 'front', 'suspect'}) do look(line(kind, queue)) end
  for _, name in ipairs(call('SMEMBERS', types_of(queue))) do look(type_line(queue, name)) end
  answer[n + 1], answer[n + 2], answer[n + 3] = queue, call('SISMEMBER', paused, queue), waiting
  for i, kind in ipairs({'scheduled', 'throttled', 'processing', 'succeeded', 'failed', 'deleted', 'quarantined', 'awaiting'}) do
    answer[n + 3 + i] = call('ZCARD', line(kind, queue))
  end
  answer[n + 12] = oldest and oldest > 0 and oldest < longest and math.floor(oldest) or 0
end
return answer
