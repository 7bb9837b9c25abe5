-- Schedules that are due, the longest first. ARGV[3]: at most so many.
-- Answer: now; in how many microseconds the next of the others is due (empty: there is none; 0: more are due); then
-- each, see schedule_views.lua.
function calls.due_schedules(step)
  local args = step.args
  local limit = tonumber(args[3])
  local answer = {step.now_text, ''}
  local names = call('ZRANGE', step.keys.firing, '-inf', step.now_text, 'BYSCORE', 'LIMIT', 0, limit)
  for _, name in ipairs(names) do answer[#answer + 1] = schedule_views.schedule_view(step, name) end
  if #names == limit then
    answer[2] = '0'
  else
    local coming = call('ZRANGE', step.keys.firing, '(' .. step.now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1,
                              'WITHSCORES')
    if coming[2] then answer[2] = base.int_text(math.min(base.longest, tonumber(coming[2]) - step.now)) end
  end
  return answer
end
