-- Members of a group that have failed, a group as @NAME.
function by_name.failed_members(step, asked)
  local failed = groups.member_scores.f
  return {names = call('ZRANGE', keys.members(step, asked.group), failed, failed, 'BYSCORE', 'LIMIT', asked.skip,
                       asked.limit)}
end
