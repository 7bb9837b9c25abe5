-- Writes, and its answer is a promise.
-- Stores new jobs that have to do with others, or with time.
-- ARGV[3]: 1 when all are stored or none is; from 4: the jobs, see flow_jobs.lua.
-- Answer, for each job: empty when it was stored, else what came of it, and behind a space about whom, see plan_new.
-- Last the hint.
-- Invariants: as for store_new; see continuations.lua. A parent is stored already, or stands before its child here, so
-- that nobody waits for itself. Refused as a whole when memory is out.
local all_or_none, at = ARGV[3] == '1', 4
local answer, n, there, is_refused = {}, 0, 0, false
call('HLEN', flow)
call('HLEN', held_keys)
call('HLEN', group_counts)
on_demand().read_new(at, #ARGV)
while at <= #ARGV do
  local what, about
  what, about, at = on_demand().plan_new(at)
  n = n + 1
  answer[n] = what == 'stored' and about == '' and '' or what .. ' ' .. about
  if what == 'there' then there = there + 1 elseif what ~= 'stored' then is_refused = true end
end
-- That all are there is the same call once more.
if all_or_none and (is_refused or there > 0 and there < n) then
  answer[n + 1] = ''
  return answer
end
on_demand().plan_new_ends()
keep_totals(job_counts)
on_demand().write_new()
on_demand().carry_out_ends()
answer[#answer + 1] = finish()
return answer
