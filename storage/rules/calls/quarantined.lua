-- A page of what was put aside since it could not be read, the newest first.
function by_name.quarantined(step, asked)
  local score, id = paging.behind(asked)
  local all, pages = asked.queue ~= '' and {asked.queue} or call('SMEMBERS', step.keys.queues), {}
  for i, queue in ipairs(all) do
    pages[i] = paging.page(places.line(step, 'quarantined', queue), true, '-inf', '+inf', score, id, asked.limit + 1,
                           #all)
    pages[i].queue = queue
  end
  local jobs, ended_at = paging.rows(pages, asked, function(p)
    return {id = p.id, queue = p.queue, since = paging.exact(p.score)}
  end)
  return {page = {jobs = jobs, next = ended_at}}
end
