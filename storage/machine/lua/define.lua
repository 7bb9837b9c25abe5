-- Writes, and its answer is a promise.
-- Adds or changes a definition.
-- ARGV[3]: resource; [4]: text; [5]: permits, or empty; [6]: the configuration that says so, or empty.
-- Answer: unchanged, added or changed; the hint.
-- Invariants: who fits under a higher limit is woken; what waits in lines of a limiter is looked at again; a changed
-- definition makes a new version of the limiter.
check_throttlers()
local resource, said, permits, config = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if config ~= '' and call('HGET', configs, resource) == config then return {'unchanged', ''} end
local before, limit_before = call('HGET', definitions, resource), call('HGET', limits, resource) or ''
say_layout()
if config ~= '' then call('HSET', configs, resource, config) end
if before == said and limit_before == permits then return {'unchanged', ''} end
call('HSET', definitions, resource, said)
if permits == '' then call('HDEL', limits, resource) else call('HSET', limits, resource, permits) end
-- What was decided by the old one is not carried out any more.
if before and permits == '' then
  local version, rest = match(call('HGET', limiters, resource) or '0 0:', '^(%d+)( .*)$')
  if version then call('HSET', limiters, resource, int_text(version + 1) .. rest) end
end
if limit_of(resource) then
  pass_on(resource)
else
  local function open(line_of_it)
    call('ZADD', next_checks, now_text, line_of_it)
    has_work('@')
  end
  if call('ZSCORE', waiting, resource) then open(resource) end
  local of_keys = call('ZRANGE', waiting, '[' .. resource .. '/', '(' .. resource .. '0', 'BYLEX')
  for _, line_of_key in ipairs(of_keys) do open(line_of_key) end
end
return {before and 'changed' or 'added', finish()}
