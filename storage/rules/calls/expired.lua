-- Tells which runs look lost: past their lease, or held until a time that no lease reaches from now.
-- ARGV[3]: at most so many. ARGV[4]: microseconds that a clock may be off without having been set back.
-- Answer: in how many microseconds the next lease ends (empty: none), the hint, then for each run: id, start, 1 when
-- the clock went back.
-- Invariant: changes nothing but `ending`, which no lease ends before. A job whose run cannot be read would run for
-- ever, since nobody can end it: it is put aside.
local line = places.line

function calls.expired(step)
  local args = step.args
  local limit, slack = tonumber(args[3]), tonumber(args[4])
  local answer, next_end, broken, ends = {'', ''}, nil, {}, {}
  local function add(id, back, queue)
    local row = call('HGET', step.keys.runs, id)
    local run = row and values.read_run(row)
    if not run or run.queue ~= queue then
      broken[#broken + 1] = {id, queue}
      return
    end
    if back then
      local score = tonumber(call('ZSCORE', line(step, 'processing', run.queue), id) or '0')
      if score <= step.now + slack + run.lease then return end
    end
    if #answer > 3 * limit + 1 then return end
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = id, row, back and '1' or '0'
  end
  for _, queue in ipairs(call('ZRANGE', step.keys.ending, 0, -1)) do
    local processing = line(step, 'processing', queue)
    for _, id in ipairs(call('ZRANGE', processing, '-inf', step.now_text, 'BYSCORE', 'LIMIT', 0, limit)) do
      add(id, false, queue)
    end
    local coming = call('ZRANGE', processing, '(' .. step.now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1,
                              'WITHSCORES')
    if coming[2] then next_end = math.min(next_end or step.now + base.longest, tonumber(coming[2])) end
    local too_late = '(' .. base.int_text(step.now + slack)
    for _, id in ipairs(call('ZRANGE', processing, '+inf', too_late, 'BYSCORE', 'REV', 'LIMIT', 0, 1000)) do
      add(id, true, queue)
    end
    local first = call('ZRANGE', processing, 0, 0, 'WITHSCORES')
    ends[#ends + 1] = {queue, first[2]}
  end
  for _, b in ipairs(broken) do changes.put_aside(step, b[1], line(step, 'processing', b[2]), b[2]) end
  for _, e in ipairs(ends) do
    if e[2] then call('ZADD', step.keys.ending, e[2], e[1]) else call('ZREM', step.keys.ending, e[1]) end
  end
  if #broken > 0 then
    changes.commit(step)
    answer[2] = hints.finish(step)
  end
  if next_end then answer[1] = base.int_text(next_end - step.now) end
  return answer
end
