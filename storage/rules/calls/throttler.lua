function by_name.throttler(step, asked) return throttler_views.throttler_view(step, asked.resource, asked.limit) end
