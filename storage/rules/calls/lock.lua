-- Takes, renews, releases or reads a lock. A lock has an end and the other way round; one that cannot be read is held
-- until its end. Freeing and holding pass when memory is out; taking does not.
local int_text = base.int_text

function by_name.lock(step, asked)
  local what, resource, fence = asked.what, asked.resource, int_text(asked.fence)
  base.sorted(step, step.keys.lock_ends)
  local until_ = tonumber(call('ZSCORE', step.keys.lock_ends, resource) or '0')
  local held = values.read_lock(call('HGET', step.keys.locks, resource)) or
    {fence = '', lease = '', token = '', holder = ''}
  local function write(l, length)
    l.lease, until_ = length, step.now + length
    call('HSET', step.keys.locks, resource, l.fence .. ' ' .. int_text(length) .. ' ' .. values.text(l.token) ..
               l.holder)
    call('ZADD', step.keys.lock_ends, int_text(until_), resource)
  end
  local function answer(code)
    if until_ <= step.now then return {code = code} end
    return {code = code, now = {fence = held.fence, ['until'] = int_text(until_), left = int_text(until_ - step.now),
                                holder = held.holder}}
  end

  if what == 'take' then
    if until_ <= step.now then
      held = {fence = int_text(numbers.draw(step, 1)), token = asked.token, holder = asked.holder}
      base.say_layout(step)
      write(held, asked.lease)
      return answer('none')
    end
    local length = tonumber(held.lease)
    if length and until_ > step.now + length + constants.clock_slack then write(held, length) end
    return answer(held.fence ~= '' and held.token == asked.token and 'none' or 'lock_held')
  elseif what == 'renew' then
    if held.fence ~= fence then return answer('stale_fence') end
    write(held, asked.lease)
  elseif what == 'release' then
    if held.fence ~= fence then return answer(until_ > step.now and 'stale_fence' or 'none') end
    call('HDEL', step.keys.locks, resource)
    call('ZREM', step.keys.lock_ends, resource)
    return {code = 'none'}
  end
  return answer('none')
end
