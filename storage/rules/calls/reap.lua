-- Takes runs away whose renewals are still those that were seen.
-- ARGV[3]: losses at which a job is failed. ARGV[4], ARGV[5]: the reason, with %d for the number: of the run when the
-- job goes back, of the losses when it is failed. ARGV[6]: cause, error and time waited of the run, as in a history.
-- From 7, for each run: id, fence, renewals.
-- Answer: a digit for each run (0 taken, 1 stale, 2 taken and failed for good, 3 taken and deleted, as it was asked to
-- end); the hint.
-- Invariants: as for settle; the job waits in its queue again, from its second loss on as a suspect, or is failed or
-- deleted; its permits go back and on. Passes when memory is out.
local many = lists.many

-- A run that is taken away: how its job ends, or nothing when it waits again.
local function take_away(step, id, run, p)
  local args = step.args
  p.losses = p.losses + 1
  local is_asked = values.is_asked_to_end(run)
  local final = is_asked and 'deleted' or p.losses >= tonumber(args[3]) and 'failed' or nil
  values.remember(step, p, run.fence, run.attempt, run.started, run.server,
                  is_asked and values.with_first('cancelled', args[6]) or args[6])
  p.reason = is_asked and values.reason_of_cancelled(p) or final and format(args[5], p.losses) or
    format(args[4], run.attempt)
  p.attempt = run.attempt - 1
  changes.set_history(step, id, p)
  changes.end_run(step, id, run.permits, not values.has_no_admission(run), final ~= nil)
  changes.leave(step, places.line(step, 'processing', run.queue), id)
  totals.count_jobs(step, run.queue, 'lost', 1)
  if final then
    totals.count_jobs(step, run.queue, final, 1)
    changes.end_for_good(step, id, sub(final, 1, 1))
    changes.enter(step, places.line(step, final, run.queue), step.now_text, id)
  else
    if step.has_flow then continuations.plan_going_on(step, id, p.attempt == 0, true) end
    changes.enter(step, places.tail(step, run.queue, p.losses), base.int_text(numbers.draw(step, 1)), id)
    hints.has_work(step, run.queue)
  end
  return final
end

function calls.reap(step)
  local args = step.args
  local ids, codes, done = {}, {}, {}
  for i = 7, #args, 3 do ids[#ids + 1] = args[i] end
  local rows, histories = many('HMGET', step.keys.runs, ids), many('HMGET', step.keys.history, ids)
  for i, id in ipairs(ids) do
    local run = rows[i] and not done[id] and values.read_run(rows[i])
    codes[i] = '1'
    if run and run.fence == args[3 * i + 5] and run.renewals == args[3 * i + 6] then
      local p = values.read_history(histories[i])
      codes[i], done[id] = '0', true
      if not p then
        changes.put_aside(step, id, places.line(step, 'processing', run.queue), run.queue)
      else
        local final = take_away(step, id, run, p)
        if final then codes[i] = final == 'deleted' and '3' or '2' end
      end
    end
  end
  changes.commit(step)
  return {table.concat(codes), hints.finish(step)}
end
