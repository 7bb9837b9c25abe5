-- What stands about a resource: resource, definition, how many hold it and wait for it, its next check or empty.
local int_text = base.int_text
function throttler_views.about(step, resource)
  local n = 0
  for _, queue in ipairs(call('SMEMBERS', keys.waits(step, resource))) do
    n = n + call('ZCARD', keys.wait_line(step, queue, resource))
  end
  local next_check = call('ZSCORE', step.keys.next_checks, resource)
  return {resource, call('HGET', step.keys.definitions, resource) or '', admissions.held_of(step, resource), n,
          next_check and int_text(tonumber(next_check)) or ''}
end

-- All who have a permit of a resource, the oldest first, those of one instant by their runs. A hash has no order, so
-- all are gathered: about as many as the limit, and all that runs is looked at where claims took some.
function throttler_views.all_holders(step, resource)
  local held = {}
  local function add(id, kind, fence, since)
    held[#held + 1] = {id = id, is_reserved = kind == 'reserved' and '1' or '0', fence = tonumber(fence or '0'),
                       since = tonumber(since or '0')}
  end
  local rows = call('HGETALL', keys.holders(step, resource))
  for i = 1, #rows, 2 do add(rows[i], match(rows[i + 1], '^(%a+) (%d+) (%d+)$')) end
  if call('HEXISTS', step.keys.claim_permits, resource) == 1 then
    local chains = {}  -- of each the first that goes on
    for _, its in ipairs(places.all_runs(step)) do
      local run = values.read_run(its.row)
      for _, name in ipairs(run and admissions.permits_in(step, run.permits) or {}) do
        local first = chains[name]
        if name == resource then add(its.id, 'held', run.fence, run.started)
        elseif admissions.permit_of(name) == resource and not (first and
                                                               tonumber(first.fence) < tonumber(run.fence)) then
          chains[name] = {id = its.id, fence = run.fence, started = run.started}
        end
      end
    end
    for _, run in pairs(chains) do add(run.id, 'held', run.fence, run.started) end
  end
  table.sort(held, function(a, b)
    if a.since ~= b.since then return a.since < b.since end
    if a.fence ~= b.fence then return a.fence < b.fence end
    return lists.by_bytes(a.id, b.id)
  end)
  return held
end

-- Those who wait for a resource, in the order in which they go, behind a number and an id, if there is such a number.
-- The cost grows with what is asked for and with queues, not with the line.
function throttler_views.line_behind(step, resource, most, number, id)
  local in_queues, pages, found = call('SMEMBERS', keys.waits(step, resource)), {}, {}
  for _, queue in ipairs(in_queues) do
    pages[#pages + 1] = paging.page(keys.wait_line(step, queue, resource), false, '-inf', '+inf', number, id, most,
                                    #in_queues)
  end
  pages = paging.merged(pages)
  while #pages > 0 and #found < most do
    found[#found + 1] = {id = pages[1].id, number = paging.exact(pages[1].score)}
    paging.go_on(pages)
  end
  return found
end

-- One resource: what stands about it; its first holders, each as id, fence, 1 when reserved, since; its first waiters;
-- the state of its limiter.
function throttler_views.throttler_view(step, resource, limit)
  local first, waiters = {}, {}
  for i, h in ipairs(throttler_views.all_holders(step, resource)) do
    if i > limit then break end
    local n = #first
    first[n + 1], first[n + 2], first[n + 3], first[n + 4] = h.id, int_text(h.fence), h.is_reserved, int_text(h.since)
  end
  for i, w in ipairs(throttler_views.line_behind(step, resource, limit)) do waiters[i] = w.id end
  local stored = call('HGET', step.keys.limiters, admissions.limiter_of(resource)) or ''
  local from = match(stored, '^%d+ ()')
  return {throttler_views.about(step, resource), first, waiters, from and values.text_at(stored, from) or ''}
end
