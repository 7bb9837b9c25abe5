-- Writes, and its answer is a promise.
-- Takes, renews, releases or looks at a lock.
-- ARGV[3]: take, renew, release or look; [4]: resource; [5]: fence; [6]: lease in microseconds; [7]: token; [8]:
-- holder.
-- Answer: 0 fine, 1 stale, 2 held by another; then, when somebody holds it, fence, end of the lease, what is left of
-- it, and holder.
-- Invariants: a lock has an end and the other way round; fences grow. A lock that cannot be read is held until its end.
-- Freeing and holding pass when memory is out; taking does not.
local what, resource, fence, lease = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if what == 'renew' or what == 'release' then begin_freeing() end
sorted(lock_ends)
local until_ = tonumber(call('ZSCORE', lock_ends, resource) or '0')
local held = read_lock(call('HGET', locks, resource)) or {fence = '', lease = '', token = '', holder = ''}
local function write(l, length)
  l.lease, until_ = length, now + length
  call('HSET', locks, resource, l.fence .. ' ' .. l.lease .. ' ' .. text(l.token) .. l.holder)
  call('ZADD', lock_ends, int_text(until_), resource)
end
local function answer(code)
  if until_ <= now then return {code} end
  return {code, held.fence, int_text(until_), int_text(until_ - now), held.holder}
end

if what == 'take' then
  if until_ <= now then
    held = {fence = int_text(draw(1)), token = ARGV[7], holder = ARGV[8]}
    say_layout()
    write(held, lease)
    finish()
    return answer(0)
  end
  if held.lease ~= '' and until_ > now + held.lease + clock_slack then write(held, held.lease) end
  return answer(held.fence ~= '' and held.token == ARGV[7] and 0 or 2)
elseif what == 'renew' then
  if held.fence ~= fence then return answer(1) end
  write(held, lease)
  return answer(0)
elseif what == 'release' then
  if held.fence ~= fence then return answer(until_ > now and 1 or 0) end
  call('HDEL', locks, resource)
  call('ZREM', lock_ends, resource)
  return {0}
end
return answer(0)
