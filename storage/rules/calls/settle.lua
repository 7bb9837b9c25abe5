-- Ends runs, and may claim in the same step.
-- ARGV[3]: the number of groups. For each: the number of its runs; how they ended (succeeded, failed, deleted, retry,
-- given_back, deferred); 1 when that is a failed run, else 0; the delay in microseconds of those that are retried or
-- deferred; 1 when they report progress, else 0; and for each run: id; fence; the reason, the result and the report,
-- if any, each as "length:bytes"; cause, error and time waited, as in a history. Then how many jobs these ends carry,
-- and for each the number of its run and the job, see flow_jobs.lua: it is stored when that run has ended as succeeded,
-- and what keeps it from that is told in the reason. Then the claim, if any: see claim.lua.
-- Answer: a digit for each run (0 ended, 1 stale, 2 had ended so before); the hint; then the rest of the claim's.
-- Invariants: only the current run ends; it leaves `runs` and its lease, and its job enters one line, which for a run
-- of a chain that was given back is the line of its permit; what has ended changes no more; its permits go back and on.
-- Who was asked to end and did not succeed is deleted, whatever his server says of what follows.
-- Passes when memory is out, unless an end carries jobs.
local int_text, sorted = base.int_text, base.sorted
local many, grouped = lists.many, lists.grouped
local text, with_first = values.text, values.with_first
local line = places.line

-- Whoever ends so comes again.
local goes_on = {given_back = true, retry = true, deferred = true}

-- What a call is to end: `runs`, each with what is asked for it, and the place behind them in `args`.
local function read_ends(args)
  local s = {runs = {}, ids = {}, codes = {}, done = {}, ended = {}, changed = {}, by_start = {}, history_ids = {},
             histories = {}, leaving = grouped(), entering = grouped(), earliest = {}}
  local at, n = 4, 0
  for _ = 1, args[3] do
    local group = {how = args[at + 1], failure = args[at + 2], delay = tonumber(args[at + 3]),
                   reports = args[at + 4] == '1'}
    local count = args[at] + 0
    at = at + 5
    for _ = 1, count do
      n = n + 1
      s.ids[n] = args[at]
      s.runs[n] = {id = args[at], fence = args[at + 1], said = args[at + 2], ended_how = args[at + 3], group = group}
      at = at + 4
    end
  end
  return s, at
end
-- Jobs that ends carry: where each begins in `args`.
local function read_next_jobs(step, s, at)
  s.carried = tonumber(step.args[at])
  at = at + 1
  for _ = 1, s.carried do
    local run = s.runs[tonumber(step.args[at])]
    run.next_jobs = run.next_jobs or {}
    table.insert(run.next_jobs, at + 1)
    at = flow_jobs.read_new(step, at + 1, at + 1)
  end
  return at
end

-- What the starts of one claim have in common is taken apart once: all of the row behind the number of the start and
-- what the job has. False when it cannot be read.
local function start_of(step, s, rest)
  local c = s.by_start[rest]
  if c ~= nil then return c end
  local claimed, place = match(rest, '^(%d+) %d+ %d+ %d+ ()')
  local queue, permits
  if claimed then queue, place = values.text_at(rest, place) end
  if queue then permits, place = values.text_at(rest, place) end
  c = false
  if permits then
    local server = sub(rest, place)
    c = {claimed = claimed, queue = queue, permits = permits, server = server, ended = 0, ends = {}, lines = {},
         chain_permit = permits ~= '' and match(permits, '^%d+:chain:%d+:(.*)$'),
         processing = sorted(step, line(step, 'processing', queue)),
         middle = ' ' .. claimed .. ' ' .. step.now_text .. ' ' .. text(server)}
    s.has_permits = s.has_permits or permits ~= ''
  end
  s.by_start[rest] = c
  return c
end
-- Only a job with a history costs a look at it, and only one with an admission a look at that.
local function look_at_runs(step, s)
  local rows = many('HMGET', step.keys.runs, s.ids)
  for i, run in ipairs(s.runs) do
    local row, fence, has = rows[i], run.fence, nil
    if row and sub(row, 1, #fence + 1) == fence .. ' ' then
      local attempt, flag, rest = match(row, '^(%d+) (%d) (.*)$', #fence + 2)
      if attempt then run.attempt, has, run.start = attempt, flag, start_of(step, s, rest) end
    end
    if has ~= '0' and has ~= '2' then s.history_ids[#s.history_ids + 1] = run.id end
    if has == '2' or has == '3' or has == '7' then
      s.has_admission = s.has_admission or {}
      s.has_admission[run.id] = true
    end
    run.is_asked = has == '5' or has == '7'
  end
  if #s.history_ids == 0 then call('HLEN', step.keys.history) end
  for k, value in ipairs(many('HMGET', step.keys.history, s.history_ids)) do s.histories[s.history_ids[k]] = value end
  if s.has_permits then admissions.check_throttlers(step) end
  if step.has_flow then flow.read_flows(step, s.ids) end
  -- Jobs that end for good, where others may have to do with them.
  if step.has_flow or s.carried > 0 then s.finals = {} end
  if s.has_admission then s.is_final = {} end
end

-- Where a job goes, and its score there.
local function target_of(step, s, start, how, delay, losses)
  if (how == 'retry' or how == 'deferred') and delay > 0 then
    sorted(step, step.keys.due)
    hints.has_work(step, '@')
    s.earliest[start.queue] = math.min(s.earliest[start.queue] or step.now + delay, step.now + delay)
    return line(step, 'scheduled', start.queue), int_text(step.now + delay)
  end
  if goes_on[how] then
    hints.has_work(step, start.queue)
    local first = how == 'given_back' and not places.is_suspect(losses)
    return first and line(step, 'front', start.queue) or places.tail(step, start.queue, losses),
           int_text(numbers.draw(step, 1))
  end
  local key = start.lines[how] or line(step, how, start.queue)
  start.lines[how] = key
  return key, step.now_text
end
-- How it ends, and what its history gets of it: who was asked to end does, and whose time is over has failed. A job
-- that it carries is planned.
local function decide_end(step, run, p)
  local how, ended_so, group = run.group.how, run.ended_how, run.group
  if p and run.is_asked and how ~= 'succeeded' then
    how, ended_so = 'deleted', with_first('cancelled', ended_so)
    run.said = with_first(values.reason_of_cancelled(p), run.said)
  end
  local too_late = step.has_flow and how == 'retry' and
                   continuations.is_too_late(step, run.id, step.now + group.delay)
  if too_late then
    how, ended_so = 'failed', with_first('deadline', ended_so)
    run.said = with_first(too_late, run.said)
  end
  if run.next_jobs and how == 'succeeded' then
    local told = {}
    for _, begins in ipairs(run.next_jobs) do told[#told + 1] = flow_jobs.plan_next(step, begins, run.id) end
    if #told > 0 then run.said = with_first(table.concat(told, '; '), run.said) end
  end
  return how, ended_so
end
-- Leaves its lease, for a line or for the line of its chain's permit.
local function plan_move(step, s, run, how, losses)
  local start = run.start
  lists.add_one(s.leaving, start.processing, run.id)
  if start.chain_permit and how == 'given_back' and not places.is_suspect(losses) then
    sorted(step, line(step, 'throttled', start.queue))
    sorted(step, keys.wait_line(step, start.queue, start.chain_permit))
    call('SCARD', keys.waits(step, start.chain_permit))
    s.returned = s.returned or {}
    table.insert(s.returned, {id = run.id, queue = start.queue, resource = start.chain_permit, fence = run.fence})
  else
    local target, score = target_of(step, s, start, how, run.group.delay, losses)
    lists.add_two(s.entering, sorted(step, target), score, run.id)
  end
end
-- What of its permits goes back: those of alike starts are counted together where nobody has more than his claim took.
local function plan_permits(s, run, is_last)
  local start = run.start
  if not s.has_admission then
    if s.has_permits and start.ended == 0 then
      s.alike = s.alike or {}
      table.insert(s.alike, start)
    end
    start.ended = start.ended + 1
    return
  end
  if start.permits ~= '' then
    s.inline_permits = s.inline_permits or {}
    s.inline_permits[#s.ended] = start.permits
  end
  s.is_final[run.id] = is_last
end
local function settle_one(step, s, i, run)
  local id, fence, start, group = run.id, run.fence, run.start, run.group
  local before = s.histories[id]
  local p = before and values.read_history(before)
  if s.done[id] == fence or (p and p.settled == fence and fence ~= '0') then
    s.codes[i] = '2'
    return
  end
  if not start or s.done[id] or fence == '0' then
    s.codes[i] = '1'
    return
  end
  s.codes[i], s.done[id] = '0', fence
  if before and not p then
    endings.may_move_to_quarantine(step, start.queue)
    s.broken = s.broken or {}
    table.insert(s.broken, {id, start.processing, start.queue})
    return
  end
  local losses, attempt = p and p.losses or 0, run.attempt
  local how, ended_so = decide_end(step, run, p)
  local is_uncounted = group.how == 'given_back' or group.how == 'deferred'
  s.ended[#s.ended + 1] = id
  plan_permits(s, run, not goes_on[how])
  if s.finals and not goes_on[how] then s.finals[#s.finals + 1] = {id, sub(how, 1, 1)}
  elseif s.finals then
    continuations.plan_going_on(step, id, is_uncounted and tonumber(attempt) == 1,
                                not is_uncounted or tonumber(attempt) > 1 or losses > 0)
  end
  start.ends[how] = (start.ends[how] or 0) + 1
  plan_move(step, s, run, how, losses)

  -- A run that was given back or deferred does not count as a run.
  local counted = is_uncounted and attempt - 1 or attempt
  local changed, n = s.changed, #s.changed
  changed[n + 1] = id
  if p then
    values.remember(step, p, fence, attempt, start.claimed, start.server, ended_so)
    changed[n + 2] = counted .. ' ' .. losses .. ' ' .. fence .. ' ' .. p.failures + group.failure .. ' ' ..
                     p.n .. ' ' .. run.said .. (group.reports and '' or text(p.reported)) .. p.ended_runs
  else
    changed[n + 2] = counted .. ' 0 ' .. fence .. ' ' .. group.failure .. ' 1 ' .. run.said ..
                     (group.reports and '' or '0:') .. text(fence .. ' ' .. attempt .. start.middle .. ended_so)
  end
end

-- Of those that have ended.
local function admissions_of_ended(step, s)
  if not s.has_admission then return {} end
  local admitted = {}
  for _, id in ipairs(s.ended) do
    if s.has_admission[id] then admitted[#admitted + 1] = id end
  end
  return endings.admissions_if_any(step, admitted)
end
local function give_permits_back(step, s, had)
  for _, r in ipairs(s.returned or {}) do
    chaining.return_to_line(step, r.id, r.queue, r.resource, r.fence, had[r.id])
    had[r.id] = nil
  end
  if s.alike then waiting.end_alike(step, s.alike) end
  if s.has_admission then endings.give_back_if_any(step, s.ended, had, s.inline_permits or {}, s.is_final) end
  for _, r in ipairs(s.returned or {}) do waiting.pass_on(step, r.resource) end  -- another permit may be free
end
local function write(step, s, had)
  for _, start in pairs(s.by_start) do
    for how, n in pairs(start and start.ends or {}) do totals.count_jobs(step, start.queue, how, n) end
  end
  totals.keep_totals(step, step.job_counts)
  -- Places first, and runs last but one: what Redis stops in its middle leaves nobody without a place.
  lists.each_list(s.entering, 'ZADD')
  lists.each_list(s.leaving, 'ZREM')
  many('HDEL', step.keys.runs, s.ended)
  many('HSET', step.keys.history, s.changed)
  for queue, instant in pairs(s.earliest) do call('ZADD', step.keys.due, 'LT', int_text(instant), queue) end
  if s.carried > 0 then flow_jobs.write_new(step) end
  if s.finals then continuations.carry_out_ends(step) end
  for _, b in ipairs(s.broken or {}) do endings.move_to_quarantine(step, b[1], b[2], b[3]) end
  if s.has_permits or s.has_admission then give_permits_back(step, s, had) end
end

function calls.settle(step)
  local args = step.args
  local s, at = read_ends(args)
  at = read_next_jobs(step, s, at)
  if #s.runs > 0 then
    look_at_runs(step, s)
    for i, run in ipairs(s.runs) do settle_one(step, s, i, run) end
    local had = admissions_of_ended(step, s)
    if args[at] then numbers.may_draw(step) end  -- for the claim
    if s.carried > 0 then flow_jobs.plan_new_ends(step) end
    if s.finals then continuations.plan_ends(step, s.finals) end
    write(step, s, had)
  end
  local answer = {table.concat(s.codes), ''}
  if args[at] then
    numbers.keep_number(step)  -- the ends are stored, whatever becomes of the claim
    local got = claiming.claim(step, at)
    for i = 1, #got do answer[i + 1] = got[i] end
  end
  answer[2] = hints.finish(step)
  return answer
end
