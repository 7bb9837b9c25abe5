-- A limiter as it is now: version, state, instant, definition, and its lines, each as resource and the number of
-- waiters whose queues run; those without any are left out.
local max_lines = 1000
function limiter_records.limiter_record(step, name)
  local stored = call('HGET', step.keys.limiters, name) or ''
  local version, from = match(stored, '^(%d+) ()')
  local view = {version or '0', from and values.text_at(stored, from) or '', step.now_text,
                call('HGET', step.keys.definitions, name) or '', {}}
  local lines = view[5]
  local function add(resource)
    local n = 0
    for _, queue in ipairs(call('SMEMBERS', keys.waits(step, resource))) do
      if waiting.queue_runs(step, queue) then n = n + call('ZCARD', keys.wait_line(step, queue, resource)) end
    end
    if n > 0 then lines[#lines + 1], lines[#lines + 2] = resource, n end
  end
  add(name)
  local behind = '[' .. name .. '/'
  while #lines < 2 * max_lines do
    -- 0 follows /
    local some = call('ZRANGE', step.keys.waiting, behind, '(' .. name .. '0', 'BYLEX', 'LIMIT', 0, max_lines)
    for _, resource in ipairs(some) do
      if #lines < 2 * max_lines then add(resource) end
    end
    local last = some[#some]
    -- While all scores are alike it is in order by name; else this might go round for ever.
    if #some < max_lines or not lists.by_bytes(sub(behind, 2), last) then break end
    behind = '(' .. last
  end
  return view
end
