-- Jobs that end without a run: nobody wants them any more, or their time is over.

-- Enters its final line: `letter` d or f. False when its history cannot be read.
function early_ends.enter_final(step, id, queue, letter, reason, cause)
  local p = values.read_history(call('HGET', step.keys.history, id))
  if not p then return false end
  local kind = letter == 'f' and 'failed' or 'deleted'
  p.reason, p.result = reason, ''
  values.remember(step, p, '0', 0, step.now_text, '', values.text(cause) .. values.text(reason) .. '0')
  changes.set_history(step, id, p)
  changes.enter(step, places.line(step, kind, queue), step.now_text, id)
  totals.count_jobs(step, queue, kind, 1)
  return true
end

-- Where a job waits; nothing when it runs, is final, or has left its line in this step.
function early_ends.waiting_at(step, id)
  local record = not step.changes.moved[id] and call('HGET', step.keys.jobs, id)
  local at = record and places.place_of(step, id, record)
  local waits = at and (places.is_enqueued(at.kind) or at.kind == 'scheduled' or at.kind == 'throttled' or
                        at.kind == 'awaiting')
  return waits and at or nil
end
-- A job that waits ends now, and leaves its place and what it has of throttlers to others. False when it does not wait.
function early_ends.end_waiting(step, id, letter, reason, cause)
  local at = early_ends.waiting_at(step, id)
  if not at or not early_ends.enter_final(step, id, at.queue, letter, reason, cause) then return false end
  step.changes.moved[id] = true
  changes.leave_place(step, at, id)
  if at.kind ~= 'scheduled' and at.kind ~= 'awaiting' then changes.forget(step, id) end
  changes.end_for_good(step, id, letter)
  return true
end
