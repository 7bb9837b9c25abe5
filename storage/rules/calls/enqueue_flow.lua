-- Stores new jobs that have to do with others, or with time.
-- ARGV[3]: 1 when all are stored or none is; from 4: the jobs, see flow_jobs.lua.
-- Answer, for each job: empty when it was stored, else what came of it, and behind a space about whom, see plan_new.
-- Last the hint.
-- Invariants: as for store_new; see continuations.lua. A parent is stored already, or stands before its child here, so
-- that nobody waits for itself. Refused as a whole when memory is out.
function calls.enqueue_flow(step)
  local args = step.args
  local all_or_none, at = args[3] == '1', 4
  local answer, n, there, is_refused = {}, 0, 0, false
  call('HLEN', step.keys.flow)
  call('HLEN', step.keys.held_keys)
  call('HLEN', step.keys.group_counts)
  flow_jobs.read_new(step, at, #args)
  while at <= #args do
    local what, about
    what, about, at = flow_jobs.plan_new(step, at)
    n = n + 1
    answer[n] = what == 'stored' and about == '' and '' or what .. ' ' .. about
    if what == 'there' then there = there + 1 elseif what ~= 'stored' then is_refused = true end
  end
  -- That all are there is the same call once more.
  if all_or_none and (is_refused or there > 0 and there < n) then
    answer[n + 1] = ''
    return answer
  end
  changes.commit(step)
  answer[#answer + 1] = hints.finish(step)
  return answer
end
