-- A page of those who have a permit of a resource, the oldest first; all are gathered for each.
function by_name.holders(step, asked)
  local score, id = paging.behind(asked)
  local told, last = {}, nil
  for _, h in ipairs(throttler_views.all_holders(step, asked.resource)) do
    local place = format('%016d', h.fence) .. h.id  -- as many digits as any fence has: in order by bytes
    if not score or h.since > score or (h.since == score and lists.by_bytes(id, place)) then
      if #told == asked.limit then return {page = {holders = told, next = last}} end
      told[#told + 1], last = throttler_views.holder(h), paging.place(h.since, place)
    end
  end
  return {page = {holders = told}}
end
