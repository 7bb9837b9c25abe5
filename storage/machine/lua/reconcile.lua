-- Writes, or finds nothing to do.
-- Wakes whoever fits and was not woken, and has lines of limiters looked at again that nobody looks at although somebody
-- waits there whose queue runs.
-- ARGV[3]: look at so many resources at most; ARGV[4]: those behind this one.
-- Answer: how many were woken; the resource behind which it goes on, or empty when that was all; the hint.
begin_freeing()
check_throttlers()
local limit = math.max(1, tonumber(ARGV[3]))
local from = ARGV[4] == '' and '-' or '(' .. ARGV[4]
local found = call('ZRANGE', waiting, from, '+', 'BYLEX', 'LIMIT', 0, limit)
local last_one, more = ARGV[4], #found == limit
for _, resource in ipairs(found) do
  local got = reconcile_line(resource)
  if got == max_woken then  -- there may be more in this line
    more = true
    break
  end
  last_one = resource
  if woken >= max_woken then
    more = true
    break
  end
end
if reopened > 0 then has_work('@') end
-- With scores in it that are not alike the list has no order, and pages of it might go on for ever.
if woken == 0 and not by_bytes(ARGV[4], last_one) then more = false end
return {woken, more and last_one or '', finish()}
