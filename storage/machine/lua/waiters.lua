-- Reads.
-- A page of those who wait for a resource, in the order in which they go. ARGV[3]: resource. ARGV[4]: at most so many.
-- ARGV[5], ARGV[6]: the number and id behind which it goes on, both empty at its beginning.
-- Answer, for each: its id and its number.
local answer = {}
for _, w in ipairs(line_behind(ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6])) do
  local n = #answer
  answer[n + 1], answer[n + 2] = w.id, w.number
end
return answer
