-- Adds or changes a definition. Who fits under a higher limit is woken; what waits in lines of a limiter is looked at
-- again; a changed definition makes a new version of the limiter. Tells what it was before, also when it stays.
function by_name.define(step, asked)
  admissions.check_throttlers(step)
  local resource, said, config = asked.resource, asked.text, asked.config
  local permits = asked.permits and base.int_text(asked.permits) or ''
  local before, limit_before = call('HGET', step.keys.definitions, resource),
    call('HGET', step.keys.limits, resource) or ''
  local last = config ~= '' and call('HGET', step.keys.configs, resource) or ''
  local told = {what = 'unchanged', before = before or '', config = last, woken = 0}
  if config ~= '' and last == config then return told end
  base.say_layout(step)
  if config ~= '' then call('HSET', step.keys.configs, resource, config) end
  if before == said and limit_before == permits then return told end
  call('HSET', step.keys.definitions, resource, said)
  if permits == '' then
    call('HDEL', step.keys.limits, resource)
  else
    call('HSET', step.keys.limits, resource, permits)
  end
  -- What was decided by the old one is not carried out any more.
  if before and permits == '' then
    local version, rest = match(call('HGET', step.keys.limiters, resource) or '0 0:', '^(%d+)( .*)$')
    if version then call('HSET', step.keys.limiters, resource, base.int_text(version + 1) .. rest) end
  end
  if admissions.limit_of(step, resource) then
    told.woken = waiting.pass_on(step, resource)
  else
    local function open(line_of_it)
      call('ZADD', step.keys.next_checks, step.now_text, line_of_it)
      hints.has_work(step, '@')
    end
    if call('ZSCORE', step.keys.waiting, resource) then open(resource) end
    local of_keys = call('ZRANGE', step.keys.waiting, '[' .. resource .. '/', '(' .. resource .. '0', 'BYLEX')
    for _, line_of_key in ipairs(of_keys) do open(line_of_key) end
  end
  told.what = before and 'changed' or 'added'
  return told
end
