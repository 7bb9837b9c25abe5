-- Writes.
-- Notes what a person did. What the same did just before is added to that act, if it is one of the newest and began
-- within `joined_within`: so that two who work at once have an act each, not one for each of their steps.
-- ARGV[3]: who; ARGV[4]: through what; ARGV[5]: what was done; ARGV[6]: to how many; from 7 on: the first of these.
-- Answer: nothing.
-- Invariants: an act's number is its score, above those of all before it, and the instant unless the clock stood still
-- or went back; it names the first `max_about` that it was done to; at most `max_actions` are kept.
local newest = 10
local last = call('ZRANGE', operator_log, '(' .. int_text(longest), '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, newest, 'WITHSCORES')
local a, before = nil, nil  -- before: what stands there of an act that this is added to
for i = 1, #last, 2 do
  local one = not before and read_action(last[i])
  if one and one.name == ARGV[3] and one.through == ARGV[4] and one.what == ARGV[5] and now >= one.at and
     now - one.at < joined_within then
    a, before = one, last[i]
  end
end
if not before then
  a = {number = math.max(now, math.floor(tonumber(last[2] or '0')) + 1), at = now, count = 0, name = ARGV[3],
       through = ARGV[4], what = ARGV[5], named = {}}
end
a.until_, a.count = now, math.min(a.count + tonumber(ARGV[6]), longest)
for i = 7, math.min(#ARGV, 6 + max_about - #a.named) do a.named[#a.named + 1] = ARGV[i] end
local value = write_action(a)
say_layout()
call('ZADD', operator_log, int_text(a.number), value)
if before and value ~= before then call('ZREM', operator_log, before) end
local over = math.min(call('ZCARD', operator_log) - max_actions, 100)
if over > 0 then call('ZREM', operator_log, unpack(call('ZRANGE', operator_log, 0, over - 1))) end
return 'OK'
