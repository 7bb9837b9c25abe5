-- Reads.
-- ARGV[3]: resource; ARGV[4]: at most so many holders and waiters. Answer: see throttler_view.lua.
return throttler_view(ARGV[3], tonumber(ARGV[4]))
