-- ARGV[3]: a limiter. Answer: see limiter_records.lua.
function calls.read_limiter(step)
  local args = step.args
  return limiter_records.limiter_record(step, args[3])
end
