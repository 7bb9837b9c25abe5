-- Writes, and its answer is a promise.
-- Stores new jobs that have to do with others, or with time.
-- ARGV from 3: the jobs, see flow_jobs.lua.
-- Answer, for each job, two values: what came of it, and about whom, see plan_new. Last the hint.
-- Invariants: as for store_new; see continuations.lua. A parent is stored already, or stands before its child here, so
-- that nobody waits for itself. Refused as a whole when memory is out.
local answer, at = {}, 3
call('HLEN', flow)
call('HLEN', held_keys)
call('HLEN', group_counts)
on_demand().read_new(at, #ARGV)
while at <= #ARGV do
  local n = #answer
  answer[n + 1], answer[n + 2], at = on_demand().plan_new(at)
end
on_demand().plan_new_ends()
keep_totals(job_counts)
on_demand().write_new()
on_demand().carry_out_ends()
answer[#answer + 1] = finish()
return answer
