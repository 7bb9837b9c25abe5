-- A page of those who wait for a resource, in the order in which they go. ARGV[3]: resource. ARGV[4]: at most so many.
-- ARGV[5], ARGV[6]: the number and id behind which it goes on, both empty at its beginning.
-- Answer, for each: its id and its number.
function calls.waiters(step)
  local args = step.args
  local answer = {}
  for _, w in ipairs(throttler_views.line_behind(step, args[3], tonumber(args[4]), tonumber(args[5]), args[6])) do
    local n = #answer
    answer[n + 1], answer[n + 2] = w.id, w.number
  end
  return answer
end
