-- Takes, renews, releases or looks at a lock.
-- ARGV[3]: take, renew, release or look; [4]: resource; [5]: fence; [6]: lease in microseconds; [7]: token; [8]:
-- holder.
-- Answer: 0 fine, 1 stale, 2 held by another; then, when somebody holds it, fence, end of the lease, what is left of
-- it, and holder.
-- Invariants: a lock has an end and the other way round; fences grow. A lock that cannot be read is held until its end.
-- Freeing and holding pass when memory is out; taking does not.
local int_text = base.int_text

function calls.lock(step)
  local args = step.args
  local what, resource, fence, lease = args[3], args[4], args[5], args[6]
  base.sorted(step, step.keys.lock_ends)
  local until_ = tonumber(call('ZSCORE', step.keys.lock_ends, resource) or '0')
  local held = values.read_lock(call('HGET', step.keys.locks, resource)) or
    {fence = '', lease = '', token = '', holder = ''}
  local function write(l, length)
    l.lease, until_ = length, step.now + length
    call('HSET', step.keys.locks, resource, l.fence .. ' ' .. l.lease .. ' ' .. values.text(l.token) .. l.holder)
    call('ZADD', step.keys.lock_ends, int_text(until_), resource)
  end
  local function answer(code)
    if until_ <= step.now then return {code} end
    return {code, held.fence, int_text(until_), int_text(until_ - step.now), held.holder}
  end

  if what == 'take' then
    if until_ <= step.now then
      held = {fence = int_text(numbers.draw(step, 1)), token = args[7], holder = args[8]}
      base.say_layout(step)
      write(held, lease)
      hints.finish(step)
      return answer(0)
    end
    if held.lease ~= '' and until_ > step.now + held.lease + constants.clock_slack then write(held, held.lease) end
    return answer(held.fence ~= '' and held.token == args[7] and 0 or 2)
  elseif what == 'renew' then
    if held.fence ~= fence then return answer(1) end
    write(held, lease)
    return answer(0)
  elseif what == 'release' then
    if held.fence ~= fence then return answer(until_ > step.now and 1 or 0) end
    call('HDEL', step.keys.locks, resource)
    call('ZREM', step.keys.lock_ends, resource)
    return {0}
  end
  return answer(0)
end
