-- Tells which starts look lost: past their lease, or held until a time that no lease reaches from now.
-- ARGV[3]: at most so many. ARGV[4]: microseconds that a clock may be off without having been set back.
-- Answer: in how many microseconds the next lease ends (empty: none), then for each start: id, start, 1 when the
-- clock went back.
-- Invariant: changes nothing but `ending`, which no lease ends before; a job whose start cannot be read is put aside.
begin_freeing()
local limit, slack = tonumber(ARGV[3]), tonumber(ARGV[4])
local answer, next_end = {''}, nil
local function add(queue, id, back)
  local row = call('HGET', starts, id)
  local start = row and read_start(row)
  if not start then
    if not back then put_aside(id, line('processing', queue), queue) end  -- else it would run for ever
    return
  end
  if back then
    local score = tonumber(call('ZSCORE', line('processing', start.queue), id) or '0')
    if score <= now + slack + start.lease then return end
  end
  if #answer > 3 * limit then return end
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = id, row, back and '1' or '0'
end
for _, queue in ipairs(call('ZRANGE', ending, 0, -1)) do
  local processing = line('processing', queue)
  for _, id in ipairs(call('ZRANGE', processing, '-inf', now_text, 'BYSCORE', 'LIMIT', 0, limit)) do add(queue, id, false) end
  local coming = call('ZRANGE', processing, '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  if coming[2] then next_end = math.min(next_end or math.huge, tonumber(coming[2])) end
  for _, id in ipairs(call('ZRANGE', processing, '+inf', '(' .. whole(now + slack), 'BYSCORE', 'REV', 'LIMIT', 0, 1000)) do
    add(queue, id, true)
  end
  local first = call('ZRANGE', processing, 0, 0, 'WITHSCORES')
  if first[2] then call('ZADD', ending, first[2], queue) else call('ZREM', ending, queue) end
end
if next_end then answer[1] = whole(next_end - now) end
return answer
