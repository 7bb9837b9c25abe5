-- Writes, and its answer is a promise.
-- ARGV[3]: queue. ARGV[4]: 1 to pause, 0 to resume: then, of the first resources that are waited for, those of its
-- waiters that fit are woken and windows looked at again; a reconcile finds the others. Passes when memory is out.
-- Answer: 1 when it was otherwise before, else 0; the hint.
begin_freeing()
-- Nothing is made of a queue that nobody knows by resuming it.
local known = call('SISMEMBER', queues, ARGV[3]) + call('SISMEMBER', paused, ARGV[3])
if ARGV[4] == '0' and known == 0 then return {0, ''} end
say_layout()
call('SADD', queues, ARGV[3])
local changed
if ARGV[4] == '1' then
  changed = call('SADD', paused, ARGV[3])
else
  changed = call('SREM', paused, ARGV[3])
  for _, resource in ipairs(call('ZRANGE', waiting, 0, 99)) do
    if call('SISMEMBER', waits(resource), ARGV[3]) == 1 then on_demand().reconcile_line(resource) end
  end
  has_work(ARGV[3])
  has_work('@')  -- lines of windows that stood still
end
return {changed, finish()}
