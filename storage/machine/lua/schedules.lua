-- Reads.
-- Schedules by name. ARGV[3]: at most so many; ARGV[4]: those behind this one.
-- Answer: now; the last name when there are more, else empty; then each, see schedule_view.lua.
local limit, after = math.max(1, tonumber(ARGV[3])), ARGV[4]
local names = {}
for _, name in ipairs(call('HKEYS', schedules)) do
  if by_bytes(after, name) then names[#names + 1] = name end
end
table.sort(names, by_bytes)
local answer = {now_text, #names > limit and names[limit] or ''}
for i = 1, math.min(#names, limit) do answer[#answer + 1] = schedule_view(names[i]) end
return answer
