-- Reads.
-- Members of a group. ARGV[3]: its name; ARGV[4], ARGV[5]: the first and the last of the scores that are asked for, see
-- groups.lua; ARGV[6]: behind so many of them; ARGV[7]: at most so many.
-- Answer: their ids, a group as @NAME.
return call('ZRANGE', members(ARGV[3]), ARGV[4], ARGV[5], 'BYSCORE', 'LIMIT', ARGV[6], ARGV[7])
