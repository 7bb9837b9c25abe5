-- A page of jobs: state after state, and within one the waiting in the order they will go, the final newest first.
-- ARGV[3]: queue, or empty for all. ARGV[4]: at most so many. ARGV[5], ARGV[6]: the score and id behind which the first
-- state goes on, both empty at its beginning. ARGV[7]: "whole", or so many of the first bytes of the args, at most 127,
-- and no results. ARGV[8], ARGV[9]: the first and last scores of states whose scores are instants, or -inf and +inf.
-- From 10: states, each as its name followed by 1 when the newest is first.
-- Answer: for each job its state, then id, line, score, record, history or empty, and its run or, of a throttled job,
-- its admission. Scores are told so that a page goes on behind any of them. One value more at the end when the page was
-- cut at its bytes, told or read.
-- A record with the first bytes of its args, and without its checksum, which is over them all. Their length has one byte.
local function with_first_args(record, most)
  local _, at = values.queue_at(record)
  local from, length, digit = at, 0, 1
  while at do
    local n = byte(record, at)
    if not n then return '' end
    at, length, digit = at + 1, length + n % 128 * digit, digit * 128
    if n < 128 then
      local first = math.min(length, most)
      return sub(record, 1, from - 1) .. string.char(first) .. sub(record, at, at + first - 1) .. sub(record, at + length, -5)
    end
  end
  return ''
end
local function without_result(value)
  local p = values.read_history(value)
  if not p or p.result == '' then return value end
  p.result = ''
  return values.write_history(p)
end

function calls.list(step)
  local args = step.args
  local limit, after_score, after_id = tonumber(args[4]), tonumber(args[5]), args[6]
  local most_of_args = tonumber(args[7])  -- nil: whole
  local all = args[3] ~= '' and {args[3]} or call('SMEMBERS', step.keys.queues)
  local has_instants = {scheduled = true, succeeded = true, failed = true, deleted = true}

  local function lines_in(state)
    local lines = {}
    for _, queue in ipairs(all) do
      if state == 'enqueued' then
        for _, kind in ipairs({'front', 'ready', 'suspect'}) do
          lines[#lines + 1] = {kind, places.line(step, kind, queue)}
        end
        for _, name in ipairs(call('SMEMBERS', places.types_of(step, queue))) do
          lines[#lines + 1] = {'type:' .. name, places.type_line(step, queue, name)}
        end
      else
        lines[#lines + 1] = {state, places.line(step, state, queue)}
      end
    end
    return lines
  end

  local function lines_with_jobs(state, newest_first)
    local lines, found = lines_in(state), {}
    local from, to = '-inf', '+inf'
    if has_instants[state] then from, to = args[8], args[9] end
    for _, l in ipairs(lines) do
      found[#found + 1] = paging.page(l[2], newest_first, from, to, after_score, after_id, limit, #lines)
      found[#found].kind = l[1]
    end
    return paging.merged(found)
  end

  local answer, count, bytes, read = {}, 0, 0, 0
  for s = 10, #args, 2 do
    local lines = lines_with_jobs(args[s], args[s + 1] == '1')
    while #lines > 0 and count < limit do
      local l, n = lines[1], #answer
      local record, before = call('HGET', step.keys.jobs, l.id) or '',
        call('HGET', step.keys.history, l.id) or ''
      read = read + #record + #before
      if most_of_args then record, before = with_first_args(record, most_of_args), without_result(before) end
      bytes = bytes + #record + #before
      if n > 0 and (bytes > constants.max_answer_bytes or read > 4 * constants.max_answer_bytes) then
        answer[n + 1] = 1
        return answer
      end
      answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = args[s], l.id, l.kind, l.place
      answer[n + 5], answer[n + 6], answer[n + 7] = record, before, places.run_told(step, l.id, l.kind)
      count = count + 1
      paging.go_on(lines)
    end
    if count >= limit then break end
    after_score, after_id = nil, nil
  end
  return answer
end
