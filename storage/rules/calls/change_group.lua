-- Makes, seals or cancels a group.
-- Answers what is `said`: done, already (nothing changed), not_found, or why not: other (it is there, in the group that
-- it is `about`, or in none), no_group, too_deep, sealed or cancelled of the one that it is to be in, or is, and about
-- it cancelled or finished.
-- Invariants: see groups.lua. No group is in itself, since the one that it is in is there before it.
function by_name.change_group(step, asked)
  local group = asked.group
  call('HLEN', step.keys.flow)
  call('HLEN', step.keys.group_counts)
  step.has_flow = '1'
  local told = groups.plan_group_change(step, asked.change, group.name, group['in'], group.seal_within)
  if told == 'done' then
    base.say_layout(step)
    changes.commit(step)
  end
  local said, about = match(told, '^(%S+) ?(.*)$')
  return {said = said, about = about}
end
