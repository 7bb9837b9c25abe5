-- Jobs that end without a run: nobody wants them any more, or their time is over.

-- Enters its final line: `letter` d or f. `before`: its history, as read. Nothing when that cannot be read.
local function enter_final(id, queue, letter, reason, cause)
  local p = read_history(call('HGET', history, id))
  if not p then return false end
  local kind = letter == 'f' and 'failed' or 'deleted'
  p.reason, p.result = reason, ''
  remember(p, '0', 0, now_text, '', text(cause) .. text(reason) .. '0')
  local histories = flow_plan.histories
  histories[#histories + 1], histories[#histories + 2] = id, write_history(p)
  add_two(flow_plan.entering, sorted(line(kind, queue)), now_text, id)
  count_jobs(queue, kind, 1)
  return true
end

-- Where a job waits; nothing when it runs, is final, or has left its line in this step.
local function waiting_at(id)
  local record = not flow_moved[id] and call('HGET', jobs, id)
  local at = record and place_of(id, record)
  local waits = at and (is_enqueued(at.kind) or at.kind == 'scheduled' or at.kind == 'throttled' or at.kind == 'awaiting')
  return waits and at or nil
end
-- A job that waits ends now, and leaves its place and what it has of throttlers to others. Whoever plans more ends is
-- given it in `ended`. False when it does not wait.
local function end_waiting(id, letter, reason, cause, ended)
  local at = waiting_at(id)
  if not at or not enter_final(id, at.queue, letter, reason, cause) then return false end
  flow_moved[id] = true
  add_one(flow_plan.leaving, sorted(at.key), id)
  if at.kind == 'scheduled' then
    sorted(due)
    flow_plan.refresh[at.queue] = true
  elseif at.kind ~= 'awaiting' and call('HEXISTS', admission, id) == 1 then
    check_throttlers()
    admission_of(id)
    flow_plan.forgotten[#flow_plan.forgotten + 1] = id
  end
  ended[#ended + 1] = {id, letter}
  return true
end
