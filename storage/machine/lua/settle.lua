-- Writes.
-- Ends runs, and may claim in the same step.
-- ARGV[3]: the number of groups. For each: the number of its runs; how they ended (succeeded, failed, deleted, retry,
-- given_back, deferred); 1 when that is a failed run, else 0; the delay in microseconds of those that are retried or
-- deferred; 1 when they report progress, else 0; and for each run: id; fence; the reason, the result and the report,
-- if any, each as "length:bytes"; cause, error and time waited, as in a history. Then how many jobs these ends carry, and
-- for each the number of its run and the job, see flow_jobs.lua: it is stored when that run has ended as succeeded, and
-- what keeps it from that is told in the reason. Then the claim, if any: see claim.lua.
-- Answer: a digit for each run (0 ended, 1 stale, 2 had ended so before); the hint; then the rest of the claim's.
-- Invariants: only the current run ends; it leaves `runs` and its lease, and its job enters one line, which for a run of
-- a chain that was given back is the line of its permit; what has ended changes no more; its permits go back and on. Who
-- was asked to end and did not succeed is deleted, whatever his server says of what follows.
-- Passes when memory is out, unless an end carries jobs.
local groups, ids, fences, said, ended_how = {}, {}, {}, {}, {}
local at, n = 4, 0
for g = 1, tonumber(ARGV[3]) do
  local count = tonumber(ARGV[at])
  groups[g] = {from = n + 1, to = n + count, how = ARGV[at + 1], failure = ARGV[at + 2],
               delay = tonumber(ARGV[at + 3]), reports = ARGV[at + 4] == '1'}
  at = at + 5
  for _ = 1, count do
    n = n + 1
    ids[n], fences[n], said[n], ended_how[n] = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    at = at + 4
  end
end
-- Jobs that ends carry: by the number of the run, where each begins in ARGV.
local next_of, next_count = {}, tonumber(ARGV[at])
at = at + 1
for _ = 1, next_count do
  local i = tonumber(ARGV[at])
  next_of[i] = next_of[i] or {}
  table.insert(next_of[i], at + 1)
  at = on_demand().read_new(at + 1, at + 1)
end
if next_count == 0 then begin_freeing() end
local rows = many('HMGET', runs, ids)

-- What the starts of one claim have in common is taken apart once.
local common, some_inline = {}, false  -- some_inline: what claims took
local function common_of(rest)
  local c = common[rest]
  if c == nil then
    local claimed, place = match(rest, '^(%d+) %d+ %d+ %d+ ()')
    local queue, permits, server
    if claimed then queue, place = text_at(rest, place) end
    if queue then permits, place = text_at(rest, place) end
    if permits then server = sub(rest, place) end
    local chain_permit = permits and match(permits, '^%d+:chain:%d+:(.*)$')
    c = permits and {claimed = claimed, queue = queue, permits = permits, server = server,
                     chain_permit = chain_permit,
                     processing = sorted(line('processing', queue)),
                     middle = ' ' .. claimed .. ' ' .. now_text .. ' ' .. text(server), lines = {}, ended = 0,
                     ends = {}} or false
    some_inline = some_inline or (c and permits ~= '')
    common[rest] = c
  end
  return c
end

-- Only a job with a history costs a look at it, and only one with an admission a look at that.
local attempts, commons, history_ids, looked, has_admission, is_asked = {}, {}, {}, {}, {}, {}
for i = 1, n do
  local row, fence, has = rows[i], fences[i], nil
  commons[i] = false
  if row and sub(row, 1, #fence + 1) == fence .. ' ' then
    local attempt, flag, rest = match(row, '^(%d+) (%d) (.*)$', #fence + 2)
    if attempt then attempts[i], has, commons[i] = attempt, flag, common_of(rest) end
  end
  if has ~= '0' and has ~= '2' then history_ids[#history_ids + 1] = ids[i] end
  if has == '2' or has == '3' or has == '7' then has_admission[ids[i]] = true end
  if has == '5' or has == '7' then is_asked[i] = true end
end
if #history_ids == 0 then call('HLEN', history) end
for k, value in ipairs(many('HMGET', history, history_ids)) do looked[history_ids[k]] = value end
local plain = not next(has_admission)  -- nobody has more than what its claim took
if some_inline then on_demand().check_throttlers() end
local ended_commons = {}
local is_final = {}
local finals = (has_flow or next_count > 0) and {}  -- jobs that end for good, where others may have to do with them

local codes = {}
local ended, changed, leaving, entering, broken = {}, {}, grouped(), grouped(), {}
local returned = {}  -- to the line of their chain's permit
local earliest, done, inline_permits = {}, {}, {}  -- inline_permits: see give_back
local ends, changes = 0, 0

if has_flow then on_demand().read_flows(ids) end
local goes_on = {given_back = true, retry = true, deferred = true}
local function target_of(how, delay, losses, c)
  if (how == 'retry' or how == 'deferred') and delay > 0 then
    sorted(due)
    has_work('@')
    earliest[c.queue] = math.min(earliest[c.queue] or now + delay, now + delay)
    return line('scheduled', c.queue), int_text(now + delay)
  end
  if goes_on[how] then
    has_work(c.queue)
    local first = how == 'given_back' and not is_suspect(losses)
    return first and line('front', c.queue) or tail(c.queue, losses), int_text(draw(1))
  end
  local key = c.lines[how] or line(how, c.queue)
  c.lines[how] = key
  return key, now_text
end

local function settle_one(i, group)
  local id, fence, c, how, failure = ids[i], fences[i], commons[i], group.how, group.failure
  local before = looked[id]
  local p = before and read_history(before)
  if done[id] == fence or (p and p.settled == fence and fence ~= '0') then
    codes[i] = '2'
    return
  end
  if not c or done[id] or fence == '0' then
    codes[i] = '1'
    return
  end
  codes[i] = '0'
  done[id] = fence
  if before and not p then
    may_move_to_quarantine(c.queue)
    broken[#broken + 1] = {id, c.processing, c.queue}
    return
  end
  local losses, attempt = p and p.losses or 0, attempts[i]
  local ended_so, uncounted = ended_how[i], how == 'given_back' or how == 'deferred'
  if p and is_asked[i] and how ~= 'succeeded' then
    how, ended_so = 'deleted', with_first('cancelled', ended_so)
    said[i] = with_first(reason_of_cancelled(p), said[i])
  end
  local too_late = has_flow and how == 'retry' and on_demand().is_too_late(id, now + group.delay)
  if too_late then
    how, ended_so = 'failed', with_first('deadline', ended_so)
    said[i] = with_first(too_late, said[i])
  end
  if next_of[i] and how == 'succeeded' then
    local told = {}
    for _, begins in ipairs(next_of[i]) do told[#told + 1] = on_demand().plan_next(begins, id) end
    if #told > 0 then said[i] = with_first(table.concat(told, '; '), said[i]) end
  end
  ends = ends + 1
  if plain then
    if c.ended == 0 then ended_commons[#ended_commons + 1] = c end
    c.ended = c.ended + 1
  elseif c.permits ~= '' then
    inline_permits[ends] = c.permits
  end
  ended[ends] = id
  local is_last = not goes_on[how]
  if not plain then is_final[id] = is_last end
  if finals and is_last then finals[#finals + 1] = {id, sub(how, 1, 1)}
  elseif finals then on_demand().plan_going_on(id, uncounted and tonumber(attempt) == 1, not uncounted or tonumber(attempt) > 1 or losses > 0) end
  c.ends[how] = (c.ends[how] or 0) + 1
  add_one(leaving, c.processing, id)
  if c.chain_permit and how == 'given_back' and not is_suspect(losses) then
    sorted(line('throttled', c.queue))
    sorted(wait_line(c.queue, c.chain_permit))
    call('SCARD', waits(c.chain_permit))
    returned[#returned + 1] = {id = id, queue = c.queue, resource = c.chain_permit, fence = fence}
  else
    local target, score = target_of(how, group.delay, losses, c)
    add_two(entering, sorted(target), score, id)
  end

  -- A run that was given back or deferred does not count as a run.
  local counted = uncounted and attempt - 1 or attempt
  changed[changes + 1] = id
  changes = changes + 2
  if p then
    remember(p, fence, attempt, c.claimed, c.server, ended_so)
    changed[changes] = counted .. ' ' .. losses .. ' ' .. fence .. ' ' .. p.failures + failure .. ' ' ..
                       p.n .. ' ' .. said[i] .. (group.reports and '' or text(p.reported)) .. p.ended_runs
  else
    changed[changes] = counted .. ' 0 ' .. fence .. ' ' .. failure .. ' 1 ' .. said[i] ..
                       (group.reports and '' or '0:') .. text(fence .. ' ' .. attempt .. c.middle .. ended_so)
  end
end
for _, group in ipairs(groups) do
  for i = group.from, group.to do settle_one(i, group) end
end

local had = {}
if next(has_admission) then
  local admitted = {}
  for _, id in ipairs(ended) do
    if has_admission[id] then admitted[#admitted + 1] = id end
  end
  had = admissions_if_any(admitted)
end
if ARGV[at] then may_draw() end  -- for the claim
if next_count > 0 then on_demand().plan_new_ends() end
if finals then on_demand().plan_ends(finals) end
for _, c in pairs(common) do
  for how, n in pairs(c and c.ends or {}) do count_jobs(c.queue, how, n) end
end
keep_totals(job_counts)
-- Places first, and runs last but one: what Redis stops in its middle leaves nobody without a place.
each_list(entering, 'ZADD')
each_list(leaving, 'ZREM')
many('HDEL', runs, ended)
many('HSET', history, changed)
for queue, instant in pairs(earliest) do call('ZADD', due, 'LT', int_text(instant), queue) end
if next_count > 0 then on_demand().write_new() end
if finals then on_demand().carry_out_ends() end
for _, b in ipairs(broken) do move_to_quarantine(b[1], b[2], b[3]) end
for _, r in ipairs(returned) do
  on_demand().return_to_line(r.id, r.queue, r.resource, r.fence, had[r.id])
  had[r.id] = nil
end
if some_inline and plain then on_demand().end_alike(ended_commons) end
give_back_if_any(ended, had, inline_permits, is_final)
for _, r in ipairs(returned) do on_demand().pass_on(r.resource) end  -- another permit of it may be free

local answer = {table.concat(codes), ''}
if ARGV[at] then
  keep_number()  -- the ends are stored, whatever becomes of the claim
  local got = claim(at)
  for i = 1, #got do answer[i + 1] = got[i] end
end
answer[2] = finish()
return answer
