-- Writes.
-- A server lives. ARGV[3]: its id; ARGV[4]: what it says of itself, without times; from 5 the queues that it serves.
-- Kept as "last beat, first beat, what it says". Answer: 1 when it was known.
begin_freeing()
say_layout()
local before = call('HGET', servers, ARGV[3])
local first = before and match(before, '^%d+ (%d+) ') or now_text
call('HSET', servers, ARGV[3], now_text .. ' ' .. first .. ' ' .. ARGV[4])
for i = 5, #ARGV do mark_served(ARGV[i]) end
return before and 1 or 0
