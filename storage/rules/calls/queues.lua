-- Answer, for each queue: its name, 1 when paused, and how many jobs are enqueued, scheduled, throttled, processing,
-- succeeded, failed, deleted, in quarantine and awaiting; when the first that waits became ready, 0 when none does; and
-- a list of how many wait for a server that knows their types, of how many types, and of the types with the most their
-- names and how many, at most so many as ARGV[3] says.
function calls.queues(step)
  local args = step.args
  local answer, max_named = {}, tonumber(args[3])
  for _, queue in ipairs(call('SMEMBERS', step.keys.queues)) do
    local n, ready, oldest = #answer, 0, nil
    local function look(key)
      local first = tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
      if not first then return 0 end
      local count = call('ZCARD', key)
      ready, oldest = ready + count, math.min(first, oldest or first)
      return count
    end
    for _, kind in ipairs({'ready', 'front', 'suspect'}) do look(places.line(step, kind, queue)) end
    local others, types = ready, {}
    for _, name in ipairs(call('SMEMBERS', places.types_of(step, queue))) do
      local count = look(places.type_line(step, queue, name))
      if count > 0 then types[#types + 1] = {name = name, count = count} end
    end
    table.sort(types, function(a, b)
      if a.count ~= b.count then return a.count > b.count end
      return lists.by_bytes(a.name, b.name)
    end)
    local unknown = {ready - others, #types}
    for i = 1, math.min(#types, max_named) do
      unknown[#unknown + 1], unknown[#unknown + 2] = types[i].name, types[i].count
    end
    answer[n + 1], answer[n + 2], answer[n + 3] = queue, call('SISMEMBER', step.keys.paused, queue), ready
    for i, kind in ipairs({'scheduled', 'throttled', 'processing', 'succeeded', 'failed', 'deleted', 'quarantined',
                           'awaiting'}) do
      answer[n + 3 + i] = call('ZCARD', places.line(step, kind, queue))
    end
    answer[n + 12] = oldest and oldest > 0 and oldest < base.longest and math.floor(oldest) or 0
    answer[n + 13] = unknown
  end
  return answer
end
