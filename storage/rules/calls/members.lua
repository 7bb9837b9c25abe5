-- Members of a group. ARGV[3]: its name; ARGV[4], ARGV[5]: the first and the last of the scores that are asked for, see
-- groups.lua; ARGV[6]: behind so many of them; ARGV[7]: at most so many.
-- Answer: their ids, a group as @NAME.
function calls.members(step)
  local args = step.args
  return call('ZRANGE', keys.members(step, args[3]), args[4], args[5], 'BYSCORE', 'LIMIT', args[6], args[7])
end
