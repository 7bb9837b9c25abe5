-- A person's word about one job.
-- ARGV[3]: requeue, remove or cancel. ARGV[4]: id. ARGV[5]: the reason. ARGV[6]: the only state in which it is done, or
-- empty for any. ARGV[7]: cause, error and time waited of the row that its history gets of this, as in a history. Of a
-- run that runs, for remove ARGV[8]: the same of that run; for cancel ARGV[8]: the reason, ARGV[9]: the row, as
-- ARGV[7]. ARGV[10] of cancel: 1 when a hint tells the servers of a run that is asked, or was asked already.
-- Answer: done, already (nothing changed), not_found or damaged; of a cancel of one that runs asked or, when it was so
-- already, asking; or why its state does not allow that: processing,
-- "throttled RESOURCE", "ended STATE", or "is STATE", which is not the only one. Then the hint.
-- Invariants: the job moves from one line to one other, as docs/job_lifecycle.md draws it, or is where it should be and
-- nothing changes; who is deleted has no permits; who runs is asked to end by a cancel, and keeps all that he has. Its
-- history tells of the change by a row of fence 0, or of the run that it ended.
local sorted = base.sorted
local remember = values.remember
local finish = hints.finish

function calls.change(step)
  local args = step.args
  local id = args[4]
  local record = call('HGET', step.keys.jobs, id)
  if not record then return {'not_found', ''} end
  local at = places.place_of(step, id, record)
  local p = values.read_history(call('HGET', step.keys.history, id))
  if not at or not p then
    local was_scheduled = at and at.kind == 'scheduled'
    if was_scheduled then sorted(step, step.keys.due) end
    endings.move_to_quarantine(step, id, at and at.key, at and at.queue or values.queue_of(record) or 'default')
    if was_scheduled then places.refresh_due(step, at.queue) end
    return {'damaged', finish(step)}
  end
  local state = places.is_enqueued(at.kind) and 'enqueued' or at.kind
  if at.kind == 'deleted' and args[3] ~= 'requeue' or places.is_enqueued(at.kind) and args[3] == 'requeue' then
    return {'already', ''}  -- also when it is asked again what it has done
  end
  if args[6] ~= '' and args[6] ~= state then return {'is ' .. state, ''} end
  local is_final = state == 'succeeded' or state == 'failed' or state == 'deleted'
  if is_final and args[3] == 'cancel' then return {'ended ' .. state, ''} end
  local row = at.kind == 'processing' and call('HGET', step.keys.runs, id)
  local run = row and values.read_run(row)
  if run and args[3] == 'cancel' then
    if args[10] == '1' then hints.has_work(step, '!') end
    if values.is_asked_to_end(run) then return {'asking', finish(step)} end
    remember(step, p, '0', 0, step.now_text, '', args[9])
    p.reason, run.has = args[8], values.has_when_asked[run.has]
    call('HSET', step.keys.history, id, values.write_history(p))
    call('HSET', step.keys.runs, id, values.write_run(run))
    return {'asked', finish(step)}
  end
  local target, score
  if args[3] == 'requeue' then
    if at.kind == 'processing' then return {at.kind, ''} end
    if at.kind == 'throttled' then
      local a = admissions.admission_of(step, id) or admissions.no_admission
      return {'throttled ' .. a.at, ''}
    end
    remember(step, p, '0', 0, step.now_text, '', args[7])
    if at.kind ~= 'scheduled' then  -- a final job starts afresh, with all its attempts
      p.failures, p.attempt, p.losses = 0, 0, 0
    end
    p.result = ''
    hints.has_work(step, at.queue)
    target, score = sorted(step, places.tail(step, at.queue, p.losses)), base.int_text(numbers.draw(step, 1))
    local refused = step.has_flow and continuations.plan_requeue(step, id, is_final)
    if refused then return {refused, ''} end
  else
    if run then
      remember(step, p, run.fence, run.attempt, run.started, run.server, args[8])
      p.attempt = run.attempt
    else
      remember(step, p, '0', 0, step.now_text, '', args[7])
    end
    totals.count_jobs(step, at.queue, 'deleted', 1)
    -- The first end of a final job is what counts for others.
    if step.has_flow and not is_final then continuations.plan_ends(step, {{id, 'd'}}) end
    target, score = sorted(step, places.line(step, 'deleted', at.queue)), step.now_text
  end
  if row or at.kind == 'throttled' then admissions.check_throttlers(step) end
  if args[3] ~= 'requeue' then admissions.admission_of(step, id) end  -- looks at what forget_job touches
  p.reason = args[5]
  if at.kind == 'scheduled' then sorted(step, step.keys.due) end
  call('HLEN', step.keys.runs)
  totals.keep_totals(step, step.job_counts)
  call('ZADD', target, score, id)
  if at.key ~= target then call('ZREM', at.key, id) end
  call('HDEL', step.keys.runs, id)
  call('HSET', step.keys.history, id, values.write_history(p))
  if at.kind == 'scheduled' then places.refresh_due(step, at.queue) end
  if step.has_flow then continuations.carry_out_ends(step) end
  if args[3] ~= 'requeue' then waiting.forget_job(step, id, row) end
  return {'done', finish(step)}
end
