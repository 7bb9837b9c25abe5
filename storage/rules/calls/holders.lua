-- A page of those who have a permit of a resource, the oldest first. ARGV[3]: resource. ARGV[4]: at most so many.
-- ARGV[5], ARGV[6]: since when, and the place among those of that instant, behind which it goes on; both empty at its
-- beginning.
-- Answer, for each: its id, its fence, 1 when reserved, since when, and its place.
function calls.holders(step)
  local args = step.args
  local answer, after, after_place = {}, tonumber(args[5]), args[6]
  for _, h in ipairs(throttler_views.all_holders(step, args[3])) do
    -- as many digits as any fence has: in order by bytes
    local n, place = #answer, format('%016d', h.fence) .. h.id
    if n >= 5 * tonumber(args[4]) then break end
    if not after or h.since > after or (h.since == after and lists.by_bytes(after_place, place)) then
      answer[n + 1], answer[n + 2], answer[n + 3] = h.id, base.int_text(h.fence), h.is_reserved
      answer[n + 4], answer[n + 5] = paging.exact(h.since), place
    end
  end
  return answer
end
