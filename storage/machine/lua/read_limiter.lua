-- Reads.
-- ARGV[3]: a limiter. Answer: see limiter_record.lua.
return limiter_record(ARGV[3])
