-- Reads.
-- Answer, for each queue: its name, 1 when paused, and how many jobs are enqueued, scheduled, throttled, processing,
-- succeeded, failed, deleted and in quarantine.
local answer = {}
for _, queue in ipairs(call('SMEMBERS', queues)) do
  local n = #answer
  local waiting = call('ZCARD', line('ready', queue)) + call('ZCARD', line('front', queue)) +
                  call('ZCARD', line('suspect', queue))
  for _, name in ipairs(call('SMEMBERS', types_of(queue))) do
    waiting = waiting + call('ZCARD', type_line(queue, name))
  end
  answer[n + 1], answer[n + 2], answer[n + 3] = queue, call('SISMEMBER', paused, queue), waiting
  for i, kind in ipairs({'scheduled', 'throttled', 'processing', 'succeeded', 'failed', 'deleted', 'quarantined'}) do
    answer[n + 3 + i] = call('ZCARD', line(kind, queue))
  end
end
return answer
