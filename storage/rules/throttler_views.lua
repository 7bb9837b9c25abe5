-- What stands about a resource, as a throttler_row (storage/admission.hpp).
local int_text = base.int_text
function throttler_views.about(step, resource)
  local n = 0
  for _, queue in ipairs(call('SMEMBERS', keys.waits(step, resource))) do
    n = n + call('ZCARD', keys.wait_line(step, queue, resource))
  end
  local next_check = call('ZSCORE', step.keys.next_checks, resource)
  return {resource = resource, definition = call('HGET', step.keys.definitions, resource) or '',
          held = admissions.held_of(step, resource), waiting = n,
          next_at = next_check and int_text(tonumber(next_check)) or nil}
end

-- All who have a permit of a resource, the oldest first, those of one instant by their runs. A hash has no order, so
-- all are gathered: about as many as the limit, and all that runs is looked at where claims took some.
function throttler_views.all_holders(step, resource)
  local held = {}
  local function add(id, kind, fence, since)
    held[#held + 1] = {id = id, is_reserved = kind == 'reserved', fence = tonumber(fence or '0'),
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

function throttler_views.holder(h)
  return {id = h.id, fence = int_text(h.fence), reserved = h.is_reserved, since = int_text(h.since)}
end

-- The pages of those who wait for a resource, in the order in which they go, behind a number and an id, if there is
-- such a number.
-- The cost grows with what is asked for and with queues, not with the line.
function throttler_views.line_behind(step, resource, most, number, id)
  local in_queues, pages = call('SMEMBERS', keys.waits(step, resource)), {}
  for _, queue in ipairs(in_queues) do
    pages[#pages + 1] = paging.page(keys.wait_line(step, queue, resource), false, '-inf', '+inf', number, id, most,
                                    #in_queues)
  end
  return pages
end

-- One resource, with the first of its holders and waiters, as a throttler_answer.
function throttler_views.throttler_view(step, resource, limit)
  local holders = throttler_views.all_holders(step, resource)
  for i = 1, #holders do holders[i] = i <= limit and throttler_views.holder(holders[i]) or nil end
  local waiters = paging.rows(throttler_views.line_behind(step, resource, limit), {limit = limit},
                              function(p) return p.id end)
  local stored = call('HGET', step.keys.limiters, admissions.limiter_of(resource)) or ''
  local from = match(stored, '^%d+ ()')
  return {about = throttler_views.about(step, resource), holders = holders, waiters = waiters,
          state = from and values.text_at(stored, from) or nil}
end
