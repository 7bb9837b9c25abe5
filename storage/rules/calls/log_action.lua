-- Notes what a person did. What the same did just before is added to that act, if it is one of the newest and began
-- within `joined_within`: so that two who work at once have an act each, not one for each of their steps.
-- Invariants: an act's number is its score, above those of all before it, and the instant unless the clock stood still
-- or went back; it names the first `max_about` that it was done to; at most `max_actions` are kept.
local newest = 10

function by_name.log_action(step, asked)
  local by = asked.by
  local last = call('ZRANGE', step.keys.operator_log, '(' .. base.int_text(base.longest), '-inf', 'BYSCORE',
                          'REV', 'LIMIT', 0, newest, 'WITHSCORES')
  local a, before = nil, nil  -- before: what stands there of an act that this is added to
  for i = 1, #last, 2 do
    local one = not before and values.read_action(last[i])
    if one and one.by.name == by.name and one.by.through == by.through and one.what == asked.what and
       step.now >= one.at and step.now - one.at < constants.joined_within then
      a, before = one, last[i]
    end
  end
  if not before then
    a = {number = math.max(step.now, math.floor(tonumber(last[2] or '0')) + 1), at = step.now, count = 0,
         by = by, what = asked.what, about = {}}
  end
  a['until'], a.count = step.now, math.min(a.count + asked.count, base.longest)
  for i = 1, math.min(#asked.about, constants.max_about - #a.about) do a.about[#a.about + 1] = asked.about[i] end
  local value = pack_value(a)
  base.say_layout(step)
  call('ZADD', step.keys.operator_log, base.int_text(a.number), value)
  if before and value ~= before then call('ZREM', step.keys.operator_log, before) end
  local over = math.min(call('ZCARD', step.keys.operator_log) - constants.max_actions, 100)
  if over > 0 then
    call('ZREM', step.keys.operator_log, unpack(call('ZRANGE', step.keys.operator_log, 0, over - 1)))
  end
  return {}
end
