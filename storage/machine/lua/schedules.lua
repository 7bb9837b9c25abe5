-- Reads.
-- Schedules by name. ARGV[3]: at most so many; ARGV[4]: those behind this one.
-- Answer: now; the last name when there are more, else empty; then each, see schedule_view.lua.
local limit, after = math.max(1, tonumber(ARGV[3])), ARGV[4]
local answer, last = {now_text, ''}, after
for i, name in ipairs(call('ZRANGE', schedule_names, '(' .. after, '+', 'BYLEX', 'LIMIT', 0, limit + 1)) do
  if i > limit then answer[2] = last
  elseif not by_bytes(last, name) then break end  -- it is in order by name while all its scores are alike
  last = name
  if i <= limit and call('HEXISTS', schedules, name) == 1 then answer[#answer + 1] = schedule_view(name) end
end
return answer
