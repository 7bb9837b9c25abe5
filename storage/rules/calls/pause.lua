-- ARGV[3]: queue. ARGV[4]: 1 to pause, 0 to resume: then, of the first resources that are waited for, those of its
-- waiters that fit are woken and windows looked at again; a reconcile finds the others. Passes when memory is out.
-- Answer: 1 when it was otherwise before, else 0; the hint.
function calls.pause(step)
  local args = step.args
  -- Nothing is made of a queue that nobody knows by resuming it.
  local known = call('SISMEMBER', step.keys.queues, args[3]) + call('SISMEMBER', step.keys.paused, args[3])
  if args[4] == '0' and known == 0 then return {0, ''} end
  base.say_layout(step)
  call('SADD', step.keys.queues, args[3])
  local changed
  if args[4] == '1' then
    changed = call('SADD', step.keys.paused, args[3])
  else
    changed = call('SREM', step.keys.paused, args[3])
    for _, resource in ipairs(call('ZRANGE', step.keys.waiting, 0, 99)) do
      if call('SISMEMBER', keys.waits(step, resource), args[3]) == 1 then
        waiting.reconcile_line(step, resource)
      end
    end
    hints.has_work(step, args[3])
    hints.has_work(step, '@')  -- lines of windows that stood still
  end
  return {changed, hints.finish(step)}
end
