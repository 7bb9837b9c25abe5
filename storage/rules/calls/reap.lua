-- Takes runs away whose renewals are still those that were seen.
-- ARGV[3]: losses at which a job is failed. ARGV[4], ARGV[5]: the reason, with %d for the number: of the run when the
-- job goes back, of the losses when it is failed. ARGV[6]: cause, error and time waited of the run, as in a history.
-- From 7, for each run: id, fence, renewals.
-- Answer: a digit for each run (0 taken, 1 stale, 2 taken and failed for good, 3 taken and deleted, as it was asked to
-- end); the hint.
-- Invariants: as for settle; the job waits in its queue again, from its second loss on as a suspect, or is failed or
-- deleted; its permits go back and on. Passes when memory is out.
local many = lists.many

function calls.reap(step)
  local args = step.args
  local ids, codes = {}, {}
  for i = 7, #args, 3 do ids[#ids + 1] = args[i] end
  local rows, histories = many('HMGET', step.keys.runs, ids), many('HMGET', step.keys.history, ids)
  local ended, changed, leaving, entering, broken = {}, {}, lists.grouped(), lists.grouped(), {}
  local finals = step.has_flow and {}  -- jobs that end for good
  local done, is_final, inline_permits = {}, {}, {}  -- inline_permits: see give_back
  for i, id in ipairs(ids) do
    local run = rows[i] and not done[id] and values.read_run(rows[i])
    codes[i] = '1'
    if run and run.fence == args[3 * i + 5] and run.renewals == args[3 * i + 6] then
      codes[i] = '0'
      done[id] = true
      local processing = places.line(step, 'processing', run.queue)
      local p = values.read_history(histories[i])
      if not p then
        endings.may_move_to_quarantine(step, run.queue)
        broken[#broken + 1] = {id = id, key = processing, queue = run.queue}
      else
        p.losses = p.losses + 1
        local is_asked = values.is_asked_to_end(run)
        local final = is_asked and 'deleted' or p.losses >= tonumber(args[3]) and 'failed' or nil
        values.remember(step, p, run.fence, run.attempt, run.started, run.server, is_asked and
                        values.with_first('cancelled', args[6]) or args[6])
        p.reason = is_asked and values.reason_of_cancelled(p) or final and format(args[5], p.losses) or
          format(args[4], run.attempt)
        p.attempt = run.attempt - 1
        ended[#ended + 1] = id
        totals.count_jobs(step, run.queue, 'lost', 1)
        if final then
          totals.count_jobs(step, run.queue, final, 1)
          is_final[id] = true
          codes[i] = is_asked and '3' or '2'
          if finals then finals[#finals + 1] = {id, sub(final, 1, 1)} end
        end
        if not final and step.has_flow then continuations.plan_going_on(step, id, p.attempt == 0, true) end
        if run.permits ~= '' then inline_permits[#ended] = run.permits end
        changed[#changed + 1] = id
        changed[#changed + 1] = values.write_history(p)
        lists.add_one(leaving, base.sorted(step, processing), id)
        if not final then hints.has_work(step, run.queue) end
        local target = final and places.line(step, final, run.queue) or places.tail(step, run.queue, p.losses)
        lists.add_two(entering, base.sorted(step, target), base.int_text(final and step.now or numbers.draw(step, 1)),
                      id)
      end
    end
  end
  local had = endings.admissions_if_any(step, ended)
  if next(inline_permits) or #broken > 0 then admissions.check_throttlers(step) end
  if finals then continuations.plan_ends(step, finals) end
  totals.keep_totals(step, step.job_counts)
  lists.each_list(entering, 'ZADD')
  lists.each_list(leaving, 'ZREM')
  many('HDEL', step.keys.runs, ended)
  many('HSET', step.keys.history, changed)
  if finals then continuations.carry_out_ends(step) end
  for _, b in ipairs(broken) do endings.move_to_quarantine(step, b.id, b.key, b.queue) end
  endings.give_back_if_any(step, ended, had, inline_permits, is_final)
  return {table.concat(codes), hints.finish(step)}
end
