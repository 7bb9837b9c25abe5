-- A limiter as it is now: version, state, instant, definition, and its lines, each as resource and the number of waiters
-- whose queues run; those without any are left out.
local max_lines = 1000
local function limiter_record(name)
  local stored = call('HGET', limiters, name) or ''
  local version, from = match(stored, '^(%d+) ()')
  local view = {version or '0', from and text_at(stored, from) or '', now_text,
                call('HGET', definitions, name) or '', {}}
  local lines = view[5]
  local function add(resource)
    local n = 0
    for _, queue in ipairs(call('SMEMBERS', waits(resource))) do
      if queue_runs(queue) then n = n + call('ZCARD', wait_line(queue, resource)) end
    end
    if n > 0 then lines[#lines + 1], lines[#lines + 2] = resource, n end
  end
  add(name)
  local behind = '[' .. name .. '/'
  while #lines < 2 * max_lines do
    local some = call('ZRANGE', waiting, behind, '(' .. name .. '0', 'BYLEX', 'LIMIT', 0, max_lines)  -- 0 follows /
    for _, resource in ipairs(some) do
      if #lines < 2 * max_lines then add(resource) end
    end
    local last = some[#some]
    -- While all scores are alike it is in order by name; else this might go round for ever.
    if #some < max_lines or not by_bytes(sub(behind, 2), last) then break end
    behind = '(' .. last
  end
  return view
end
