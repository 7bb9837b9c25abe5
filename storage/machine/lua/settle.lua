-- Writes.
-- Ends runs, and may claim in the same step.
-- ARGV[3]: the number of groups. For each: the number of its runs; how they ended (succeeded, failed, deleted, retry,
-- given_back, deferred); 1 when that is a failed run, else 0; the delay in microseconds of those that are retried or
-- deferred; 1 when they report progress, else 0; and for each run: id; fence; the reason, the result and the report,
-- if any, each as "length:bytes"; cause, error and time waited, as in a history. Then the claim, if any: see claim.lua.
-- Answer: a digit for each run (0 ended, 1 stale, 2 had ended so before); the hint; then the rest of the claim's.
-- Invariants: only the current run ends; it leaves `runs` and its lease, and its job enters one line, which for a run of
-- a chain that was given back is the line of its permit; what has ended changes no more; its permits go back and on. Who
-- was asked to end and did not succeed is deleted, whatever his server says of what follows.
-- Passes when memory is out.
begin_freeing()
local groups, ids, fences, said, ended_how = {}, {}, {}, {}, {}
local at, n = 4, 0
for g = 1, tonumber(ARGV[3]) do
  local count = tonumber(ARGV[at])
  groups[g] = {from = n + 1, to = n + count, how = ARGV[at + 1], failure = tonumber(ARGV[at + 2]),
               delay = tonumber(ARGV[at + 3]), reports = ARGV[at + 4] == '1'}
  at = at + 5
  for _ = 1, count do
    n = n + 1
    ids[n], fences[n], said[n], ended_how[n] = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    at = at + 4
  end
end
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
local finals, is_final = has_flow and {}, {}  -- jobs that end for good; is_final: of those with an admission

local codes = {}
local ended, changed, leaving, entering, broken = {}, {}, grouped(), grouped(), {}
local returned = {}  -- to the line of their chain's permit
local earliest, done, inline_permits = {}, {}, {}  -- inline_permits: see give_back
local ends, changes = 0, 0

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

for _, group in ipairs(groups) do
  local failure = group.failure
  local uncounted = group.how == 'given_back' or group.how == 'deferred'
  for i = group.from, group.to do
    local id, fence, c, how = ids[i], fences[i], commons[i], group.how
    local before = looked[id]
    local p = before and read_history(before)
    if done[id] == fence or (p and p.settled == fence and fence ~= '0') then
      codes[i] = '2'
    elseif not c or done[id] or fence == '0' then
      codes[i] = '1'
    else
      codes[i] = '0'
      done[id] = fence
      if before and not p then
        may_move_to_quarantine(c.queue)
        broken[#broken + 1] = {id, c.processing, c.queue}
      else
        local losses, attempt = p and p.losses or 0, attempts[i]
        if p and is_asked[i] and how ~= 'succeeded' then
          how, ended_how[i] = 'deleted', as_cancelled(ended_how[i])
          local _, behind = text_at(said[i], 1)
          said[i] = text(reason_of_cancelled(p)) .. sub(said[i], behind)
        end
        ends = ends + 1
        if plain then
          if c.ended == 0 then ended_commons[#ended_commons + 1] = c end
          c.ended = c.ended + 1
        elseif c.permits ~= '' then
          inline_permits[ends] = c.permits
        end
        ended[ends] = id
        if not goes_on[how] then
          if finals then finals[#finals + 1] = {id, sub(how, 1, 1)} end
          if has_admission[id] then is_final[id] = true end
        end
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
          remember(p, fence, attempt, c.claimed, c.server, ended_how[i])
          changed[changes] = counted .. ' ' .. losses .. ' ' .. fence .. ' ' .. p.failures + failure .. ' ' ..
                             p.n .. ' ' .. said[i] .. (group.reports and '' or text(p.reported)) .. p.ended_runs
        else
          changed[changes] = counted .. ' 0 ' .. fence .. ' ' .. failure .. ' 1 ' .. said[i] ..
                             (group.reports and '' or '0:') .. text(fence .. ' ' .. attempt .. c.middle .. ended_how[i])
        end
      end
    end
  end
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
if finals then on_demand().plan_ends(finals) end
for _, c in pairs(common) do
  for how, n in pairs(c and c.ends or {}) do count_jobs(c.queue, how, n) end
end
keep_totals(job_counts)
each_list(leaving, 'ZREM')
many('HDEL', runs, ended)
many('HSET', history, changed)
each_list(entering, 'ZADD')
for queue, instant in pairs(earliest) do call('ZADD', due, 'LT', int_text(instant), queue) end
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
