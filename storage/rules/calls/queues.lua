-- All queues, by name. `most_types`: how many of the types that no server knows are named, those with the most jobs.
local counted = {'scheduled', 'throttled', 'processing', 'succeeded', 'failed', 'deleted', 'quarantined', 'awaiting'}

function by_name.queues(step, asked)
  local told, unknown = {}, {}
  local names = call('SMEMBERS', step.keys.queues)
  table.sort(names, lists.by_bytes)
  for _, queue in ipairs(names) do
    local ready, oldest = 0, nil
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
    if #types > 0 then
      local most = {}
      for i = 1, math.min(#types, asked.most_types) do most[i] = {types[i].name, types[i].count} end
      unknown[#unknown + 1] = {queue = queue, jobs = ready - others, types = #types, most = most}
    end
    local its = {queue = queue, paused = call('SISMEMBER', step.keys.paused, queue), enqueued = ready,
                 oldest_ready_at = oldest and oldest > 0 and oldest < base.longest and math.floor(oldest) or nil}
    for _, kind in ipairs(counted) do its[kind] = call('ZCARD', places.line(step, kind, queue)) end
    told[#told + 1] = its
  end
  return {queues = told, unknown = unknown}
end
