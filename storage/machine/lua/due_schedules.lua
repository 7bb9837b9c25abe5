-- Reads.
-- Schedules that are due, the longest first. ARGV[3]: at most so many.
-- Answer: now; in how many microseconds the next of the others is due (empty: there is none; 0: more are due); then
-- each, see schedule_view.lua.
local limit = tonumber(ARGV[3])
local answer = {now_text, ''}
local names = call('ZRANGE', firing, '-inf', now_text, 'BYSCORE', 'LIMIT', 0, limit)
for _, name in ipairs(names) do answer[#answer + 1] = schedule_view(name) end
if #names == limit then
  answer[2] = '0'
else
  local coming = call('ZRANGE', firing, '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  if coming[2] then answer[2] = int_text(math.min(longest, tonumber(coming[2]) - now)) end
end
return answer
