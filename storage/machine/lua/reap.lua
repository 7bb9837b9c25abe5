-- Writes.
-- Takes runs away whose renewals are still those that were seen.
-- ARGV[3]: losses at which a job is failed. ARGV[4], ARGV[5]: the reason, with %d for the number: of the run when the
-- job goes back, of the losses when it is failed. ARGV[6]: cause, error and time waited of the run, as in a history.
-- From 7, for each run: id, fence, renewals.
-- Answer: a digit for each run (0 taken, 1 stale, 2 taken and failed for good, 3 taken and deleted, as it was asked to
-- end); the hint.
-- Invariants: as for settle; the job waits in its queue again, from its second loss on as a suspect, or is failed or
-- deleted; its permits go back and on. Passes when memory is out.
begin_freeing()
local ids, codes = {}, {}
for i = 7, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
local rows, histories = many('HMGET', runs, ids), many('HMGET', history, ids)
local ended, changed, leaving, entering, broken = {}, {}, grouped(), grouped(), {}
local finals = has_flow and {}  -- jobs that end for good
local done, is_final, inline_permits = {}, {}, {}  -- inline_permits: see give_back
for i, id in ipairs(ids) do
  local run = rows[i] and not done[id] and read_run(rows[i])
  codes[i] = '1'
  if run and run.fence == ARGV[3 * i + 5] and run.renewals == ARGV[3 * i + 6] then
    codes[i] = '0'
    done[id] = true
    local processing = line('processing', run.queue)
    local p = read_history(histories[i])
    if not p then
      may_move_to_quarantine(run.queue)
      broken[#broken + 1] = {id = id, key = processing, queue = run.queue}
    else
      p.losses = p.losses + 1
      local is_asked = is_asked_to_end(run)
      local final = is_asked and 'deleted' or p.losses >= tonumber(ARGV[3]) and 'failed' or nil
      remember(p, run.fence, run.attempt, run.started, run.server, is_asked and with_first('cancelled', ARGV[6]) or ARGV[6])
      p.reason = is_asked and reason_of_cancelled(p) or final and format(ARGV[5], p.losses) or format(ARGV[4], run.attempt)
      p.attempt = run.attempt - 1
      ended[#ended + 1] = id
      count_jobs(run.queue, 'lost', 1)
      if final then
        count_jobs(run.queue, final, 1)
        is_final[id] = true
        codes[i] = is_asked and '3' or '2'
        if finals then finals[#finals + 1] = {id, sub(final, 1, 1)} end
      end
      if not final and has_flow then on_demand().plan_going_on(id, p.attempt == 0, true) end
      if run.permits ~= '' then inline_permits[#ended] = run.permits end
      changed[#changed + 1] = id
      changed[#changed + 1] = write_history(p)
      add_one(leaving, sorted(processing), id)
      if not final then has_work(run.queue) end
      local target = final and line(final, run.queue) or tail(run.queue, p.losses)
      add_two(entering, sorted(target), int_text(final and now or draw(1)), id)
    end
  end
end
local had = admissions_if_any(ended)
if next(inline_permits) or #broken > 0 then on_demand().check_throttlers() end
if finals then on_demand().plan_ends(finals) end
keep_totals(job_counts)
each_list(entering, 'ZADD')
each_list(leaving, 'ZREM')
many('HDEL', runs, ended)
many('HSET', history, changed)
if finals then on_demand().carry_out_ends() end
for _, b in ipairs(broken) do move_to_quarantine(b.id, b.key, b.queue) end
give_back_if_any(ended, had, inline_permits, is_final)
return {table.concat(codes), finish()}
