-- A page of the locks that are held, those first whose leases end first. ARGV[3]: at most so many. ARGV[4], ARGV[5]:
-- the score and resource behind which it goes on, both empty at its beginning.
-- Answer, for each: the resource, the end of its lease, its fence and holder, both empty when they cannot be read, and
-- the time that is left.
function calls.locks(step)
  local args = step.args
  local answer = {}
  local after = tonumber(args[4])
  if after and after <= step.now then after = nil end  -- all up to there have ended, and there may be many
  local held = paging.merged({paging.page(step.keys.lock_ends, false, '(' .. step.now_text, '+inf', after, args[5],
                                          tonumber(args[3]), 1)})
  while #held > 0 and #answer < 5 * tonumber(args[3]) do
    local n, resource, left = #answer, held[1].id, held[1].score - step.now
    if left > 0 then  -- others have ended since the page before
      answer[n + 1], answer[n + 2], answer[n + 5] = resource, paging.exact(held[1].score),
        base.int_text(math.min(left, base.longest))
      local l = values.read_lock(call('HGET', step.keys.locks, resource)) or {fence = '', holder = ''}
      answer[n + 3], answer[n + 4] = l.fence, l.holder
    end
    paging.go_on(held)
  end
  return answer
end
