-- How many jobs came and ended. ARGV[3]: a queue, or empty for all together. ARGV[4]: minutes or hours, of which there
-- are lists; ARGV[5]: the time of one list in microseconds; ARGV[6]: how many lists are kept. ARGV[7], ARGV[8]: from
-- and until which instant, each empty for any.
-- Answer: the number of queues; for each its totals, what they were before its minute and hour, and 1 when these are
-- not too old to be told; then for each list: which it is, and its rows.
function calls.totals(step)
  local args = step.args
  local name, kind, each = args[3], args[4], tonumber(args[5])
  local answer = {0}
  local oldest = math.floor(step.now / each) - args[6]
  local function add(queue, value)
    local n, minute = #answer, tonumber(match(value or '', '^(%d+) '))
    answer[1] = answer[1] + 1
    answer[n + 1], answer[n + 2] = value or '', call('HGET', step.keys.totals_before, queue) or ''
    answer[n + 3] = minute and math.floor(minute * 60000000 / each) >= oldest and 1 or 0
  end
  if name ~= '' then
    add(name, call('HGET', step.keys.totals, name))
  else
    local all = call('HGETALL', step.keys.totals)
    for i = 1, #all, 2 do add(all[i], all[i + 1]) end
  end
  local function list_at(instant, otherwise) return math.floor((tonumber(instant) or otherwise) / each) end
  local newest = list_at('', step.now)
  for slot = math.max(newest - args[6], list_at(args[7], 0)), math.min(newest + 1, list_at(args[8], step.now + each)) do
    local rows = call('HGET', keys.total_list(step, kind, slot), name)
    if rows then answer[#answer + 1], answer[#answer + 2] = base.int_text(slot), rows end
  end
  return answer
end
