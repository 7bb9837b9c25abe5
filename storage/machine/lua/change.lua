-- Writes, and its answer is a promise.
-- A person's word about one job.
-- ARGV[3]: requeue, remove or cancel. ARGV[4]: id. ARGV[5]: the reason. ARGV[6]: the only state in which it is done, or
-- empty for any. ARGV[7]: cause, error and time waited of the row that its history gets of this, as in a history. Of a run
-- that runs, for remove ARGV[8]: the same of that run; for cancel ARGV[8]: the reason, ARGV[9]: the row, as ARGV[7].
-- ARGV[10] of cancel: 1 when a hint tells the servers of a run that is asked, or was asked already.
-- Answer: done, already (nothing changed), not_found or damaged; of a cancel of one that runs asked or, when it was so
-- already, asking; or why its state does not allow that: processing,
-- "throttled RESOURCE", "ended STATE", or "is STATE", which is not the only one. Then the hint.
-- Invariants: the job moves from one line to one other, as docs/job_lifecycle.md draws it, or is where it should be and
-- nothing changes; who is deleted has no permits; who runs is asked to end by a cancel, and keeps all that he has. Its
-- history tells of the change by a row of fence 0, or of the run that it ended.
begin_freeing()
local id = ARGV[4]
local record = call('HGET', jobs, id)
if not record then return {'not_found', ''} end
local at = place_of(id, record)
local p = read_history(call('HGET', history, id))
if not at or not p then
  local was_scheduled = at and at.kind == 'scheduled'
  if was_scheduled then sorted(due) end
  move_to_quarantine(id, at and at.key, at and at.queue or queue_of(record) or 'default')
  if was_scheduled then refresh_due(at.queue) end
  return {'damaged', finish()}
end
local state = is_enqueued(at.kind) and 'enqueued' or at.kind
if at.kind == 'deleted' and ARGV[3] ~= 'requeue' or is_enqueued(at.kind) and ARGV[3] == 'requeue' then
  return {'already', ''}  -- also when it is asked again what it has done
end
if ARGV[6] ~= '' and ARGV[6] ~= state then return {'is ' .. state, ''} end
local is_final = state == 'succeeded' or state == 'failed' or state == 'deleted'
if is_final and ARGV[3] == 'cancel' then return {'ended ' .. state, ''} end
local row = at.kind == 'processing' and call('HGET', runs, id)
local run = row and read_run(row)
if run and ARGV[3] == 'cancel' then
  if ARGV[10] == '1' then has_work('!') end
  if is_asked_to_end(run) then return {'asking', finish()} end
  remember(p, '0', 0, now_text, '', ARGV[9])
  p.reason, run.has = ARGV[8], has_when_asked[run.has]
  call('HSET', history, id, write_history(p))
  call('HSET', runs, id, write_run(run))
  return {'asked', finish()}
end
local target, score
if ARGV[3] == 'requeue' then
  if at.kind == 'processing' then return {at.kind, ''} end
  if at.kind == 'throttled' then
    local a = on_demand().admission_of(id) or on_demand().no_admission
    return {'throttled ' .. a.at, ''}
  end
  remember(p, '0', 0, now_text, '', ARGV[7])
  if at.kind ~= 'scheduled' then  -- a final job starts afresh, with all its attempts
    p.failures, p.attempt, p.losses = 0, 0, 0
  end
  p.result = ''
  has_work(at.queue)
  target, score = sorted(tail(at.queue, p.losses)), int_text(draw(1))
  local refused = has_flow and on_demand().plan_requeue(id, is_final)
  if refused then return {refused, ''} end
else
  if run then
    remember(p, run.fence, run.attempt, run.started, run.server, ARGV[8])
    p.attempt = run.attempt
  else
    remember(p, '0', 0, now_text, '', ARGV[7])
  end
  count_jobs(at.queue, 'deleted', 1)
  -- The first end of a final job is what counts for others.
  if has_flow and not is_final then on_demand().plan_ends({{id, 'd'}}) end
  target, score = sorted(line('deleted', at.queue)), now_text
end
if row or at.kind == 'throttled' then on_demand().check_throttlers() end
if ARGV[3] ~= 'requeue' then on_demand().admission_of(id) end  -- looks at what forget_job touches
p.reason = ARGV[5]
if at.kind == 'scheduled' then sorted(due) end
call('HLEN', runs)
keep_totals(job_counts)
call('ZADD', target, score, id)
if at.key ~= target then call('ZREM', at.key, id) end
call('HDEL', runs, id)
call('HSET', history, id, write_history(p))
if at.kind == 'scheduled' then refresh_due(at.queue) end
if has_flow then on_demand().carry_out_ends() end
if ARGV[3] ~= 'requeue' then on_demand().forget_job(id, row) end
return {'done', finish()}
