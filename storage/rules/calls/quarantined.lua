-- A page of what was put aside since it could not be read, the newest first. ARGV[3]: queue, or empty for all. ARGV[4]:
-- at most so many. ARGV[5], ARGV[6]: the score and id behind which it goes on, both empty at its beginning.
-- Answer, for each: its id, its queue, and when it was put aside.
function calls.quarantined(step)
  local args = step.args
  local most = tonumber(args[4])
  local all, pages = args[3] ~= '' and {args[3]} or call('SMEMBERS', step.keys.queues), {}
  for _, queue in ipairs(all) do
    local p = paging.page(places.line(step, 'quarantined', queue), true, '-inf', '+inf', tonumber(args[5]), args[6],
                          most, #all)
    p.queue = queue
    pages[#pages + 1] = p
  end
  local answer = {}
  pages = paging.merged(pages)
  while #pages > 0 and #answer < 3 * most do
    local n, p = #answer, pages[1]
    answer[n + 1], answer[n + 2], answer[n + 3] = p.id, p.queue, paging.exact(p.score)
    paging.go_on(pages)
  end
  return answer
end
