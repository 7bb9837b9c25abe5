-- Reads.
-- A page of jobs: state after state, and within one the waiting in the order they will go, the final newest first.
-- ARGV[3]: queue, or empty for all. ARGV[4]: at most so many. ARGV[5], ARGV[6]: the score and id behind which the first
-- state goes on, both empty at its beginning. From 7: states, each as its name followed by 1 when the newest is first.
-- Answer: for each job the place of its state among those asked, then id, line, score, record, past or empty, and
-- its start or, of a throttled job, its admission. Scores are told so that a page goes on behind any of them.
local function exact(score) return format('%.17g', score) end
local limit, after_score, after_id = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local all = ARGV[3] ~= '' and {ARGV[3]} or call('SMEMBERS', queues)
table.sort(all, by_bytes)

local function lines_in(state)
  local lines = {}
  for _, queue in ipairs(all) do
    if state == 'enqueued' then
      for _, kind in ipairs({'front', 'ready', 'suspect'}) do lines[#lines + 1] = {kind, line(kind, queue)} end
      for _, name in ipairs(call('SMEMBERS', types_of(queue))) do
        lines[#lines + 1] = {'type:' .. name, type_line(queue, name)}
      end
    else
      lines[#lines + 1] = {state, line(state, queue)}
    end
  end
  return lines
end

-- The first `want` of a line behind the cursor, into `rows`.
local function read(kind, key, newest_first, want, rows)
  local found, offset = 0, 0
  while found < want do
    local from, part = after_score and exact(after_score), nil
    if newest_first then
      part = call('ZRANGE', key, from or '+inf', '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, want, 'WITHSCORES')
    else
      part = call('ZRANGE', key, from or '-inf', '+inf', 'BYSCORE', 'LIMIT', offset, want, 'WITHSCORES')
    end
    for i = 1, #part, 2 do
      local score = tonumber(part[i + 1])
      local first, second = after_id, part[i]
      if newest_first then first, second = second, first end
      if after_score ~= score or by_bytes(first, second) then
        rows[#rows + 1] = {id = part[i], score = score, kind = kind}
        found = found + 1
      end
    end
    if #part < 2 * want then return end
    offset = offset + want
  end
end

local answer, count = {}, 0
for s = 7, #ARGV, 2 do
  local newest_first, rows = ARGV[s + 1] == '1', {}
  for _, l in ipairs(lines_in(ARGV[s])) do read(l[1], l[2], newest_first, limit - count, rows) end
  table.sort(rows, function(a, b)
    if newest_first then a, b = b, a end
    return a.score < b.score or (a.score == b.score and by_bytes(a.id, b.id))
  end)
  for i = 1, math.min(#rows, limit - count) do
    local r, n = rows[i], #answer
    answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = (s - 7) / 2, r.id, r.kind, exact(r.score)
    answer[n + 5] = call('HGET', jobs, r.id) or ''
    answer[n + 6], answer[n + 7] = call('HGET', past, r.id) or '', start_told(r.id, r.kind)
  end
  count = count + math.min(#rows, limit - count)
  after_score, after_id = nil, nil
  if count >= limit then break end
end
return answer
