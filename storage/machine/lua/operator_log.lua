-- Reads.
-- A page of what people did, the newest first. ARGV[3]: at most so many. ARGV[4], ARGV[5]: the score and member behind
-- which it goes on, both empty at its beginning; the member is always empty, since no two have one score.
-- Answer, for each: its score, and what stands there.
local answer = {}
local all = merged({page(operator_log, true, '-inf', '+inf', tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[3]), 1)})
while #all > 0 and #answer < 2 * tonumber(ARGV[3]) do
  local n = #answer
  answer[n + 1], answer[n + 2] = exact(all[1].score), all[1].id
  go_on(all)
end
return answer
