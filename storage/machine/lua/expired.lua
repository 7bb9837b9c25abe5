-- Writes, or finds nothing to do.
-- Tells which runs look lost: past their lease, or held until a time that no lease reaches from now.
-- ARGV[3]: at most so many. ARGV[4]: microseconds that a clock may be off without having been set back.
-- Answer: in how many microseconds the next lease ends (empty: none), the hint, then for each run: id, start, 1 when
-- the clock went back.
-- Invariant: changes nothing but `ending`, which no lease ends before. A job whose run cannot be read would run for
-- ever, since nobody can end it: it is put aside.
begin_freeing()
local limit, slack = tonumber(ARGV[3]), tonumber(ARGV[4])
local answer, next_end, broken, ends = {'', ''}, nil, {}, {}
local function add(id, back, queue)
  local row = call('HGET', runs, id)
  local run = row and read_run(row)
  if not run or run.queue ~= queue then
    broken[#broken + 1] = {id, queue}
    return
  end
  if back then
    local score = tonumber(call('ZSCORE', line('processing', run.queue), id) or '0')
    if score <= now + slack + run.lease then return end
  end
  if #answer > 3 * limit + 1 then return end
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = id, row, back and '1' or '0'
end
for _, queue in ipairs(call('ZRANGE', ending, 0, -1)) do
  local processing = line('processing', queue)
  for _, id in ipairs(call('ZRANGE', processing, '-inf', now_text, 'BYSCORE', 'LIMIT', 0, limit)) do
    add(id, false, queue)
  end
  local coming = call('ZRANGE', processing, '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  if coming[2] then next_end = math.min(next_end or now + longest, tonumber(coming[2])) end
  local too_late = '(' .. int_text(now + slack)
  for _, id in ipairs(call('ZRANGE', processing, '+inf', too_late, 'BYSCORE', 'REV', 'LIMIT', 0, 1000)) do
    add(id, true, queue)
  end
  local first = call('ZRANGE', processing, 0, 0, 'WITHSCORES')
  ends[#ends + 1] = {queue, first[2]}
end
for _, b in ipairs(broken) do may_move_to_quarantine(b[2]) end
for _, e in ipairs(ends) do
  if e[2] then call('ZADD', ending, e[2], e[1]) else call('ZREM', ending, e[1]) end
end
for _, b in ipairs(broken) do move_to_quarantine(b[1], line('processing', b[2]), b[2]) end
if #broken > 0 then answer[2] = finish() end
if next_end then answer[1] = int_text(next_end - now) end
return answer
