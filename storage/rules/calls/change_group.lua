-- Makes, seals or cancels a group. ARGV[3]: create, seal or cancel. ARGV[4]: its name. Of create, ARGV[5]: the group
-- that it is in, or empty; ARGV[6]: in how many microseconds it is cancelled unless it is sealed.
-- Answer: done, already (nothing changed), not_found, or why not: "other GROUP" (it is there, in that group or none),
-- "no_group GROUP", "sealed GROUP" or "cancelled GROUP" of the one that it is to be in, "is cancelled" or "is
-- finished". Then the hint.
-- Invariants: see groups.lua. No group is in itself, since the one that it is in is there before it.
function calls.change_group(step)
  local args = step.args
  call('HLEN', step.keys.flow)
  call('HLEN', step.keys.group_counts)
  step.has_flow = '1'
  local told = groups.plan_group_change(step, args[3], args[4], args[5], args[6])
  if told ~= 'done' then return {told, ''} end
  base.say_layout(step)
  changes.commit(step)
  return {told, hints.finish(step)}
end
