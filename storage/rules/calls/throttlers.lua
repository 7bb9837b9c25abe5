-- What is defined, held or waited for, by name.
-- ARGV[3]: at most so many; ARGV[4]: those behind this one. ARGV[5]: empty, or only what is defined.
-- Answer: the last of them when there are more, else empty; then what stands about each, see throttler_views.lua.
local by_bytes = lists.by_bytes

function calls.throttlers(step)
  local args = step.args
  local limit, after = math.max(1, tonumber(args[3])), args[4]
  local all, seen = {}, {}
  local function add(resource)
    if seen[resource] then return end
    seen[resource] = true
    all[#all + 1] = resource
  end
  for _, resource in ipairs(call('HKEYS', step.keys.definitions)) do
    if by_bytes(after, resource) then add(resource) end
  end
  for _, key in ipairs(args[5] == '' and {step.keys.busy, step.keys.waiting} or {}) do
    for _, resource in ipairs(call('ZRANGE', key, '(' .. after, '+', 'BYLEX', 'LIMIT', 0, limit + 1)) do
      if by_bytes(after, resource) then add(resource) end  -- it is in order by name while all its scores are alike
    end
  end
  table.sort(all, by_bytes)
  local answer = {#all > limit and all[limit] or ''}
  for i = 1, math.min(#all, limit) do answer[i + 1] = throttler_views.about(step, all[i]) end
  return answer
end
