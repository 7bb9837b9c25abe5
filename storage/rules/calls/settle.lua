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
local add_one, add_two, many = lists.add_one, lists.add_two, lists.many
local text, with_first = values.text, values.with_first
local line = places.line

-- Whoever ends so comes again.
local goes_on = {given_back = true, retry = true, deferred = true}

-- What a call is to end: `runs`, each with what is asked for it, and the place behind them in `args`.
local function read_ends(args)
  local s = {runs = {}, ids = {}, codes = {}, done = {}, by_start = {}, history_ids = {}, histories = {}}
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
  local carried = tonumber(step.args[at])
  at = at + 1
  for _ = 1, carried do
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
    c = {claimed = claimed, queue = queue, permits = permits, server = server, ends = {}, lines = {},
         chain_permit = permits ~= '' and match(permits, '^%d+:chain:%d+:(.*)$'),
         processing = sorted(step, line(step, 'processing', queue)),
         middle = ' ' .. claimed .. ' ' .. step.now_text .. ' ' .. text(server)}
    if permits ~= '' then admissions.check_throttlers(step) end
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
    run.may_have = has == '2' or has == '3' or has == '7'
    run.is_asked = has == '5' or has == '7'
  end
  if #s.history_ids == 0 then call('HLEN', step.keys.history) end
  for k, value in ipairs(many('HMGET', step.keys.history, s.history_ids)) do s.histories[s.history_ids[k]] = value end
  if step.has_flow then flow.read_flows(step, s.ids) end
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
local function plan_move(step, run, how, losses)
  local start, delay = run.start, run.group.delay
  local is_first = how == 'given_back' and not places.is_suspect(losses)
  add_one(step.changes.leaving, start.processing, run.id)
  if start.chain_permit and is_first then
    sorted(step, line(step, 'throttled', start.queue))
    sorted(step, keys.wait_line(step, start.queue, start.chain_permit))
    call('SCARD', keys.waits(step, start.chain_permit))
    table.insert(step.changes.returned,
                 {id = run.id, queue = start.queue, resource = start.chain_permit, fence = run.fence})
  elseif (how == 'retry' or how == 'deferred') and delay > 0 then
    changes.schedule(step, start.queue, step.now + delay, run.id)
  elseif goes_on[how] then
    local target = is_first and line(step, 'front', start.queue) or places.tail(step, start.queue, losses)
    changes.enter(step, target, int_text(numbers.draw(step, 1)), run.id)
    hints.has_work(step, start.queue)
  else
    start.lines[how] = start.lines[how] or sorted(step, line(step, how, start.queue))
    add_two(step.changes.entering, start.lines[how], step.now_text, run.id)
  end
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
    return changes.put_aside(step, id, start.processing, start.queue)
  end
  local losses, attempt = p and p.losses or 0, run.attempt
  local how, ended_so = decide_end(step, run, p)
  local is_uncounted = group.how == 'given_back' or group.how == 'deferred'
  changes.end_run(step, id, start.permits, run.may_have, not goes_on[how])
  if not step.has_flow then  -- nobody has to do with it
  elseif not goes_on[how] then changes.end_for_good(step, id, sub(how, 1, 1))
  else
    continuations.plan_going_on(step, id, is_uncounted and tonumber(attempt) == 1,
                                not is_uncounted or tonumber(attempt) > 1 or losses > 0)
  end
  start.ends[how] = (start.ends[how] or 0) + 1
  plan_move(step, run, how, losses)

  -- A run that was given back or deferred does not count as a run.
  local counted = is_uncounted and attempt - 1 or attempt
  local histories = step.changes.histories
  local n = #histories + 2
  histories[n - 1] = id
  if p then
    values.remember(step, p, fence, attempt, start.claimed, start.server, ended_so)
    p.attempt, p.settled, p.failures = counted, fence, p.failures + group.failure
    histories[n] = values.write_history(p, group.reports and run.said or run.said .. text(p.reported))
  else
    histories[n] = values.history_of_one(counted, fence, group.failure,
                                         group.reports and run.said or run.said .. '0:',
                                         fence .. ' ' .. attempt .. start.middle .. ended_so)
  end
end

function calls.settle(step)
  local args = step.args
  local s, at = read_ends(args)
  at = read_next_jobs(step, s, at)
  if #s.runs > 0 then
    look_at_runs(step, s)
    for i, run in ipairs(s.runs) do settle_one(step, s, i, run) end
    for _, start in pairs(s.by_start) do
      for how, n in pairs(start and start.ends or {}) do totals.count_jobs(step, start.queue, how, n) end
    end
    if args[at] then numbers.may_draw(step) end  -- for the claim
    changes.commit(step)  -- the ends are stored, whatever becomes of the claim
  end
  local answer = {table.concat(s.codes), ''}
  if args[at] then
    local got = claiming.claim(step, at)
    for i = 1, #got do answer[i + 1] = got[i] end
  end
  answer[2] = hints.finish(step)
  return answer
end
