-- Wakes whoever fits and was not woken, and has lines of limiters looked at again that nobody looks at although
-- somebody waits there whose queue runs.
-- ARGV[3]: look at so many resources at most; ARGV[4]: those behind this one.
-- Answer: how many were woken; the resource behind which it goes on, or empty when that was all; the hint.
function calls.reconcile(step)
  local args = step.args
  admissions.check_throttlers(step)
  local limit = math.max(1, tonumber(args[3]))
  local from = args[4] == '' and '-' or '(' .. args[4]
  local found = call('ZRANGE', step.keys.waiting, from, '+', 'BYLEX', 'LIMIT', 0, limit)
  local last_one, more = args[4], #found == limit
  for _, resource in ipairs(found) do
    local got = waiting.reconcile_line(step, resource)
    if got == waiting.max_woken then  -- there may be more in this line
      more = true
      break
    end
    last_one = resource
    if step.woken >= waiting.max_woken then
      more = true
      break
    end
  end
  if step.reopened > 0 then hints.has_work(step, '@') end
  -- With scores in it that are not alike the list has no order, and pages of it might go on for ever.
  if step.woken == 0 and not lists.by_bytes(args[4], last_one) then more = false end
  return {step.woken, more and last_one or '', hints.finish(step)}
end
