-- ARGV[3]: resource; ARGV[4]: at most so many holders and waiters. Answer: see throttler_views.lua.
function calls.throttler(step)
  local args = step.args
  return throttler_views.throttler_view(step, args[3], tonumber(args[4]))
end
