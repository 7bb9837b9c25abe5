-- A server lives. ARGV[3]: its id; ARGV[4]: what it says of itself, without times.
-- Kept as "last beat, first beat, what it says".
begin_freeing()
local before = call('HGET', servers, ARGV[3])
local first = before and match(before, '^%d+ (%d+) ') or now_text
call('HSET', servers, ARGV[3], now_text .. ' ' .. first .. ' ' .. ARGV[4])
return 'OK'
