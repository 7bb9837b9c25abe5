-- Schedules by name. ARGV[3]: at most so many; ARGV[4]: those behind this one.
-- Answer: now; the last name when there are more, else empty; then each, see schedule_views.lua.
local by_bytes = lists.by_bytes

function calls.schedules(step)
  local args = step.args
  local limit, after = math.max(1, tonumber(args[3])), args[4]

  -- Of a set whose scores were harmed, and which is in no order by name any more.
  local function sorted_behind()
    local names = {}
    for _, name in ipairs(call('HKEYS', step.keys.schedules)) do
      if by_bytes(after, name) then names[#names + 1] = name end
    end
    table.sort(names, by_bytes)
    return names
  end

  local names, last = call('ZRANGE', step.keys.schedule_names, '(' .. after, '+', 'BYLEX', 'LIMIT', 0, limit + 1),
    after
  for _, name in ipairs(names) do
    if not by_bytes(last, name) then names = sorted_behind() break end
    last = name
  end
  local answer = {step.now_text, #names > limit and names[limit] or ''}
  for i = 1, math.min(#names, limit) do
    if call('HEXISTS', step.keys.schedules, names[i]) == 1 then
      answer[#answer + 1] = schedule_views.schedule_view(step, names[i])
    end
  end
  return answer
end
