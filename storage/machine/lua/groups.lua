-- Reads.
-- Groups, by name. ARGV[3]: one alone, or empty for a page; ARGV[4]: the name behind which it begins; ARGV[5]: at most so
-- many.
-- Answer, for each: see tell_group.
local names = {ARGV[3]}
if ARGV[3] == '' then
  names = call('HKEYS', group_counts)
  table.sort(names, by_bytes)
end
local answer = {}
for _, name in ipairs(names) do
  if (ARGV[3] ~= '' or by_bytes(ARGV[4], name)) and #answer < 4 * tonumber(ARGV[5]) then tell_group(name, answer) end
end
return answer
