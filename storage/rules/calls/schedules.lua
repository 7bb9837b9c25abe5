-- Schedules, by name.
local by_bytes = lists.by_bytes

function by_name.schedules(step, asked)
  local limit, after = math.max(1, asked.limit), asked.after

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
  local rows = {}
  for i = 1, math.min(#names, limit) do rows[#rows + 1] = schedule_views.found(step, names[i]) end
  return {now = step.now_text, rows = rows, next = #names > limit and names[limit] or nil}
end
