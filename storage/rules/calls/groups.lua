-- Groups, by name. ARGV[3]: one alone, or empty for a page; ARGV[4]: the name behind which it begins; ARGV[5]: at most
-- so many.
-- Answer, for each: see tell_group.
function calls.groups(step)
  local args = step.args
  local names = {args[3]}
  if args[3] == '' then
    names = call('HKEYS', step.keys.group_counts)
    table.sort(names, lists.by_bytes)
  end
  local answer = {}
  for _, name in ipairs(names) do
    if (args[3] ~= '' or lists.by_bytes(args[4], name)) and #answer < 4 * tonumber(args[5]) then
      groups.tell_group(step, name, answer)
    end
  end
  return answer
end
