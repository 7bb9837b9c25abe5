-- Wakes whoever fits and was not woken, and has lines of limiters looked at again that nobody looks at although
-- somebody waits there whose queue runs.
-- `limit`: look at so many resources at most.
function by_name.reconcile(step, asked)
  admissions.check_throttlers(step)
  local limit = math.max(1, asked.limit)
  local from = asked.after == '' and '-' or '(' .. asked.after
  local found = call('ZRANGE', step.keys.waiting, from, '+', 'BYLEX', 'LIMIT', 0, limit)
  local last_one, more = asked.after, #found == limit
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
  if step.woken == 0 and not lists.by_bytes(asked.after, last_one) then more = false end
  return {woken = step.woken, next = more and last_one or nil}
end
