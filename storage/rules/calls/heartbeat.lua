-- A server lives. What it says of itself is kept behind "last beat, first beat"; the last beat stands there in every
-- layout.
function by_name.heartbeat(step, asked)
  base.say_layout(step)
  local before = call('HGET', step.keys.servers, asked.id)
  local first = before and match(before, '^%d+ (%d+) ') or step.now_text
  call('HSET', step.keys.servers, asked.id, step.now_text .. ' ' .. first .. ' ' .. pack_value(asked))
  for _, queue in ipairs(asked.queues) do  -- "name:workers"
    local name = match(queue, '^(.*):') or queue
    if not string.find(name, '*', 1, true) then places.mark_served(step, name) end  -- not a pattern
  end
  return {known = before ~= false}
end
