-- Reads.
-- Schedules by name. ARGV[3]: at most so many; ARGV[4]: those behind this one.
-- Answer: now; the last name when there are more, else empty; then each, see schedule_view.lua.
local limit, after = math.max(1, tonumber(ARGV[3])), ARGV[4]

-- Of a set whose scores were harmed, and which is in no order by name any more.
local function sorted_behind()
  local names = {}
  for _, name in ipairs(call('HKEYS', schedules)) do
    if by_bytes(after, name) then names[#names + 1] = name end
  end
  table.sort(names, by_bytes)
  return names
end

local names, last = call('ZRANGE', schedule_names, '(' .. after, '+', 'BYLEX', 'LIMIT', 0, limit + 1), after
for _, name in ipairs(names) do
  if not by_bytes(last, name) then names = sorted_behind() break end
  last = name
end
local answer = {now_text, #names > limit and names[limit] or ''}
for i = 1, math.min(#names, limit) do
  if call('HEXISTS', schedules, names[i]) == 1 then answer[#answer + 1] = schedule_view(names[i]) end
end
return answer
