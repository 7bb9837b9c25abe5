-- Pauses a queue, or resumes it: then, of the first resources that are waited for, those of its
-- waiters that fit are woken and windows looked at again; a reconcile finds the others. Passes when memory is out.
function by_name.pause(step, asked)
  local queue = asked.queue
  -- Nothing is made of a queue that nobody knows by resuming it.
  local known = call('SISMEMBER', step.keys.queues, queue) + call('SISMEMBER', step.keys.paused, queue)
  if not asked.paused and known == 0 then return {changed = false} end
  base.say_layout(step)
  call('SADD', step.keys.queues, queue)
  local changed
  if asked.paused then
    changed = call('SADD', step.keys.paused, queue)
  else
    changed = call('SREM', step.keys.paused, queue)
    for _, resource in ipairs(call('ZRANGE', step.keys.waiting, 0, 99)) do
      if call('SISMEMBER', keys.waits(step, resource), queue) == 1 then
        waiting.reconcile_line(step, resource)
      end
    end
    hints.has_work(step, queue)
    hints.has_work(step, '@')  -- lines of windows that stood still
  end
  return {changed = changed}
end
