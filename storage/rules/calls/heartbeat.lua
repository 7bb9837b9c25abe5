-- A server lives. ARGV[3]: its id; ARGV[4]: what it says of itself, without times; from 5 the queues that it serves.
-- Kept as "last beat, first beat, what it says". Answer: 1 when it was known.
function calls.heartbeat(step)
  local args = step.args
  base.say_layout(step)
  local before = call('HGET', step.keys.servers, args[3])
  local first = before and match(before, '^%d+ (%d+) ') or step.now_text
  call('HSET', step.keys.servers, args[3], step.now_text .. ' ' .. first .. ' ' .. args[4])
  for i = 5, #args do places.mark_served(step, args[i]) end
  return before and 1 or 0
end
