-- A person's word about jobs, one after the other.
-- ARGV[3]: requeue, remove or cancel. ARGV[4]: the only state in which it is done, or empty for any. ARGV[5]: the
-- reason. ARGV[6]: cause, error and time waited of the row that the history of a job gets of this, as in a history. Of
-- a job that runs: for remove ARGV[8]: the same of its run; for cancel ARGV[7]: its reason, ARGV[8]: the row, as
-- ARGV[6]. From 9: ids.
-- Answer: the hint; for each job: done, already (nothing changed), not_found or damaged; of a cancel of one that runs
-- asked or, when it was so already, asking; or why its state does not allow that: processing, "throttled RESOURCE",
-- "ended STATE", or "is STATE", which is not the only one.
-- Invariants: a job moves from one line to one other, as docs/job_lifecycle.md draws it, or is where it should be and
-- nothing changes; who is deleted has no permits; who runs is asked to end by a cancel, and keeps all that he has. Its
-- history tells of the change by a row of fence 0, or of the run that it ended.
local remember = values.remember

-- One that runs is asked to end.
local function ask_to_end(step, id, p, run)
  local args = step.args
  hints.has_work(step, '!')  -- also when it was asked already: that hint may have been lost
  if values.is_asked_to_end(run) then return 'asking' end
  remember(step, p, '0', 0, step.now_text, '', args[8])
  p.reason, run.has = args[7], values.has_when_asked[run.has]
  changes.set_history(step, id, p)
  changes.set_run(step, id, run)
  return 'asked'
end
-- Its line is ready, or that of suspects. Answers why that cannot be.
local function requeue(step, id, at, p, is_final)
  if at.kind == 'processing' then return at.kind end
  if at.kind == 'throttled' then
    return 'throttled ' .. (admissions.admission_of(step, id) or admissions.no_admission).at
  end
  local refused = step.has_flow and continuations.plan_requeue(step, id, is_final)
  if refused then return refused end
  remember(step, p, '0', 0, step.now_text, '', step.args[6])
  if at.kind ~= 'scheduled' then  -- a final job starts afresh, with all its attempts
    p.failures, p.attempt, p.losses = 0, 0, 0
  end
  p.result = ''
  changes.enter(step, places.tail(step, at.queue, p.losses), base.int_text(numbers.draw(step, 1)), id)
  hints.has_work(step, at.queue)
end
-- It is deleted, and all that it has of throttlers goes on to others.
local function remove(step, id, at, p, is_final, row, run)
  if run then
    remember(step, p, run.fence, run.attempt, run.started, run.server, step.args[8])
    p.attempt = run.attempt
  else
    remember(step, p, '0', 0, step.now_text, '', step.args[6])
  end
  totals.count_jobs(step, at.queue, 'deleted', 1)
  -- The first end of a final job is what counts for others.
  if not is_final then changes.end_for_good(step, id, 'd') end
  changes.enter(step, places.line(step, 'deleted', at.queue), step.now_text, id)
  changes.forget(step, id, row)
end

local function change(step, what, id)
  local args = step.args
  local record = call('HGET', step.keys.jobs, id)
  if not record then return 'not_found' end
  local at = places.place_of(step, id, record)
  local p = values.read_history(call('HGET', step.keys.history, id))
  if not at or not p then
    changes.put_job_aside(step, id, record, at)
    changes.commit(step)
    return 'damaged'
  end
  local state = places.is_enqueued(at.kind) and 'enqueued' or at.kind
  if state == 'deleted' and what ~= 'requeue' or state == 'enqueued' and what == 'requeue' then
    return 'already'  -- also when it is asked again what it has done
  end
  if args[4] ~= '' and args[4] ~= state then return 'is ' .. state end
  local is_final = places.is_final(state)
  if is_final and what == 'cancel' then return 'ended ' .. state end
  local row = at.kind == 'processing' and call('HGET', step.keys.runs, id)
  local run = row and values.read_run(row)
  if run and what == 'cancel' then
    local told = ask_to_end(step, id, p, run)
    changes.commit(step)
    return told
  end
  if what == 'requeue' then
    local refused = requeue(step, id, at, p, is_final)
    if refused then return refused end
  else
    remove(step, id, at, p, is_final, row, run)
  end
  p.reason = args[5]
  changes.set_history(step, id, p)
  changes.leave_place(step, at, id)
  call('HLEN', step.keys.runs)
  table.insert(step.changes.runs_over, id)
  changes.commit(step)
  return 'done'
end

-- Each is decided by what the one before it has written. So a key that is damaged may end this when some are changed.
function calls.change_jobs(step)
  local args, told = step.args, {''}
  if args[3] == 'requeue' and #args > 9 then numbers.may_draw(step) end
  for i = 9, #args do told[i - 7] = change(step, args[3], args[i]) end
  told[1] = hints.finish(step)
  return told
end
