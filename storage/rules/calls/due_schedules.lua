-- Schedules that are due, the longest first, and in how many microseconds the next of the others is (0: more are due).
function by_name.due_schedules(step, asked)
  local rows, next_in = {}, nil
  local names = call('ZRANGE', step.keys.firing, '-inf', step.now_text, 'BYSCORE', 'LIMIT', 0, asked.limit)
  for i, name in ipairs(names) do rows[i] = schedule_views.schedule_view(step, name) end
  if #names == asked.limit then
    next_in = 0
  else
    local coming = call('ZRANGE', step.keys.firing, '(' .. step.now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1,
                              'WITHSCORES')
    if coming[2] then next_in = base.int_text(math.min(base.longest, tonumber(coming[2]) - step.now)) end
  end
  return {now = step.now_text, rows = rows, next_in = next_in}
end
