-- Reads.
-- Groups, by name. ARGV[3]: one alone, or empty for a page; ARGV[4]: the name behind which it begins; ARGV[5]: at most so
-- many.
-- Answer, for each: its name, the group that it is in or empty, and its state, how many are open, succeeded, failed and
-- deleted, when it was made and when it ended, with spaces between.
local names = {ARGV[3]}
if ARGV[3] == '' then
  names = call('HKEYS', group_counts)
  table.sort(names, by_bytes)
end
local answer = {}
for _, name in ipairs(names) do
  local g = (ARGV[3] ~= '' or by_bytes(ARGV[4], name)) and #answer < 3 * tonumber(ARGV[5]) and group_of(name)
  if g then
    local f = flow_of(node_of(name))
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = name, f and f.group or '', write_group(g)
  end
end
return answer
