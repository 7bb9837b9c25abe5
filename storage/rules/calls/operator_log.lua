-- A page of what people did, the newest first. ARGV[3]: at most so many. ARGV[4], ARGV[5]: the score and member behind
-- which it goes on, both empty at its beginning; the member is always empty, since no two have one score.
-- Answer, for each: its score, and what stands there.
function calls.operator_log(step)
  local args = step.args
  local answer = {}
  local all = paging.merged({paging.page(step.keys.operator_log, true, '-inf', '+inf', tonumber(args[4]), args[5],
                                         tonumber(args[3]), 1)})
  while #all > 0 and #answer < 2 * tonumber(args[3]) do
    local n = #answer
    answer[n + 1], answer[n + 2] = paging.exact(all[1].score), all[1].id
    paging.go_on(all)
  end
  return answer
end
