-- Removes a definition that nobody needs, or answers how many do: what is held or waited for stays defined, and so does
-- a limiter of which a key is waited for.
function by_name.undefine(step, asked)
  admissions.check_throttlers(step)
  local resource = asked.resource
  local held, waits_for_it = admissions.held_of(step, resource), 0
  local function count(line_of_it)
    for _, queue in ipairs(call('SMEMBERS', keys.waits(step, line_of_it))) do
      waits_for_it = waits_for_it + call('ZCARD', keys.wait_line(step, queue, line_of_it))
    end
  end
  count(resource)
  for _, key in ipairs(call('ZRANGE', step.keys.waiting, '[' .. resource .. '/', '(' .. resource .. '0',
                                  'BYLEX')) do
    count(key)
  end
  if held + waits_for_it > 0 then return {held = held, waiting = waits_for_it} end
  -- Its limiter keeps the number: what was decided before is not carried out on one of that name that is defined anew.
  local version, rest = match(call('HGET', step.keys.limiters, resource) or '0 0:', '^(%d+) (.*)$')
  local is_window = call('HEXISTS', step.keys.definitions, resource) == 1 and
    call('HEXISTS', step.keys.limits, resource) == 0
  if not version then call('HDEL', step.keys.limiters, resource)
  elseif is_window or rest ~= '0:' then call('HSET', step.keys.limiters, resource, base.int_text(version + 1) ..
                                                   ' 0:') end
  for _, key in ipairs({step.keys.definitions, step.keys.configs, step.keys.limits}) do
    call('HDEL', key, resource)
  end
  for _, line_of_it in ipairs(call('ZRANGE', step.keys.next_checks, 0, -1)) do
    if admissions.limiter_of(line_of_it) == resource then call('ZREM', step.keys.next_checks, line_of_it) end
  end
  return {}
end
