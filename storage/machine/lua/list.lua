-- Reads.
-- A page of jobs: state after state, and within one the waiting in the order they will go, the final newest first.
-- ARGV[3]: queue, or empty for all. ARGV[4]: at most so many. ARGV[5], ARGV[6]: the score and id behind which the first
-- state goes on, both empty at its beginning. ARGV[7]: 1 when args and results are told, too. From 8: states, each as
-- its name followed by 1 when the newest is first.
-- Answer: for each job the place of its state among those asked, then id, line, score, record, past or empty, and
-- its start or, of a throttled job, its admission. Scores are told so that a page goes on behind any of them. One value
-- more at the end when the page was cut at its bytes.
local function exact(score) return format('%.17g', score) end
local limit, after_score, after_id = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local with_args = ARGV[7] == '1'
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

-- A record with empty args, and without its checksum, which is over them.
local function without_args(record)
  local _, at = name_at(record, 2)
  if at then _, at = name_at(record, at) end
  local from, length, digit = at, 0, 1
  while at do
    local n = byte(record, at)
    if not n then return '' end
    at, length, digit = at + 1, length + n % 128 * digit, digit * 128
    if n < 128 then return sub(record, 1, from - 1) .. '\0' .. sub(record, at + length, -9) end
  end
  return ''
end
local function without_result(value)
  local p = read_past(value)
  if not p or p.result == '' then return value end
  p.result = ''
  return write_past(p)
end

local answer, count, bytes = {}, 0, 0
for s = 8, #ARGV, 2 do
  local newest_first, rows = ARGV[s + 1] == '1', {}
  for _, l in ipairs(lines_in(ARGV[s])) do read(l[1], l[2], newest_first, limit - count, rows) end
  table.sort(rows, function(a, b)
    if newest_first then a, b = b, a end
    return a.score < b.score or (a.score == b.score and by_bytes(a.id, b.id))
  end)
  for i = 1, math.min(#rows, limit - count) do
    local r, n = rows[i], #answer
    local record, before = call('HGET', jobs, r.id) or '', call('HGET', past, r.id) or ''
    if not with_args then record, before = without_args(record), without_result(before) end
    bytes = bytes + #record + #before
    if n > 0 and bytes > most_told_bytes then
      answer[n + 1] = 1
      return answer
    end
    answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = (s - 8) / 2, r.id, r.kind, exact(r.score)
    answer[n + 5], answer[n + 6], answer[n + 7] = record, before, start_told(r.id, r.kind)
  end
  count = count + math.min(#rows, limit - count)
  after_score, after_id = nil, nil
  if count >= limit then break end
end
return answer
