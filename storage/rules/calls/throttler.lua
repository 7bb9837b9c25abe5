function by_name.throttler(step, asked)
  local told = throttler_views.throttler_view(step, asked.resource, asked.limit)
  told.config = call('HGET', step.keys.configs, asked.resource) or nil
  return told
end
