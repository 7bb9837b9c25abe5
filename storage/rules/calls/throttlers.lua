-- What is defined, held or waited for, by name.
local by_bytes = lists.by_bytes

function by_name.throttlers(step, asked)
  local limit, after = math.max(1, asked.limit), asked.after
  local all, seen = {}, {}
  local function add(resource)
    if seen[resource] then return end
    seen[resource] = true
    all[#all + 1] = resource
  end
  for _, resource in ipairs(call('HKEYS', step.keys.definitions)) do
    if by_bytes(after, resource) then add(resource) end
  end
  for _, key in ipairs(asked.only_defined and {} or {step.keys.busy, step.keys.waiting}) do
    for _, resource in ipairs(call('ZRANGE', key, '(' .. after, '+', 'BYLEX', 'LIMIT', 0, limit + 1)) do
      if by_bytes(after, resource) then add(resource) end  -- it is in order by name while all its scores are alike
    end
  end
  table.sort(all, by_bytes)
  local told = {}
  for i = 1, math.min(#all, limit) do told[i] = throttler_views.about(step, all[i]) end
  return {throttlers = told, next = #all > limit and all[limit] or nil}
end
