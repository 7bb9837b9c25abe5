-- A page of those who wait for a resource, in the order in which they go.
function by_name.waiters(step, asked)
  local score, id = paging.behind(asked)
  local pages = throttler_views.line_behind(step, asked.resource, asked.limit + 1, score, id)
  local told, ended_at = paging.rows(pages, asked, function(p) return p.id end)
  return {page = {waiters = told, next = ended_at}}
end
