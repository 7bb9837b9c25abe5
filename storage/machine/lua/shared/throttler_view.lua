-- What stands about a resource: resource, definition, how many hold it and wait for it, its opening or empty.
local function about(resource)
  local n = 0
  for _, queue in ipairs(call('SMEMBERS', waits(resource))) do n = n + call('ZCARD', wait_line(queue, resource)) end
  local opening = call('ZSCORE', next_checks, resource)
  return {resource, call('HGET', definitions, resource) or '', held_of(resource), n,
          opening and whole(tonumber(opening)) or ''}
end

-- One resource: what stands about it; its first holders, each as id, fence, 1 when reserved, since; its first waiters;
-- the state of its cell.
local function throttler_view(resource, limit)
  local held, first, in_line, waiters = {}, {}, {}, {}
  local rows = call('HGETALL', holders(resource))
  for i = 1, #rows, 2 do
    local kind, fence, since = match(rows[i + 1], '^(%a+) (%d+) (%d+)$')
    held[#held + 1] = {id = rows[i], kind = kind or '', fence = tonumber(fence or '0'), since = tonumber(since or '0')}
  end
  if call('HEXISTS', claim_permits, resource) == 1 then
    for _, its in ipairs(all_runs()) do
      local start = read_start(its.row)
      for _, name in ipairs(start and permits_in(start.permits) or {}) do
        if name == resource then
          held[#held + 1] = {id = its.id, kind = 'held', fence = tonumber(start.fence), since = tonumber(start.started)}
        end
      end
    end
  end
  table.sort(held, function(a, b)
    if a.since ~= b.since then return a.since < b.since end
    if a.fence ~= b.fence then return a.fence < b.fence end
    return by_bytes(a.id, b.id)
  end)
  for i = 1, math.min(#held, limit) do
    local h, n = held[i], #first
    first[n + 1], first[n + 2] = h.id, whole(h.fence)
    first[n + 3], first[n + 4] = h.kind == 'reserved' and 1 or 0, whole(h.since)
  end
  for _, queue in ipairs(call('SMEMBERS', waits(resource))) do
    rows = call('ZRANGE', wait_line(queue, resource), 0, limit - 1, 'WITHSCORES')
    for i = 1, #rows, 2 do in_line[#in_line + 1] = {rows[i], tonumber(rows[i + 1])} end
  end
  table.sort(in_line, function(a, b) return a[2] < b[2] end)
  for i = 1, math.min(#in_line, limit) do waiters[i] = in_line[i][1] end
  local stored = call('HGET', limiters, cell_of(resource)) or ''
  local from = match(stored, '^%d+ ()')
  return {about(resource), first, waiters, from and text_at(stored, from) or ''}
end
