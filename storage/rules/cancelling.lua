-- Runs that were asked to end before their handlers began.
local many = lists.many

-- Of runs, each its id and fence, those that are current and were asked to end: each its id and run, once.
function cancelling.asked_among(rows, ids, fences)
  local found, seen = {}, {}
  for i, id in ipairs(ids) do
    local run = rows[i] and match(rows[i], '^%d+ %d+ [57] ') and values.read_run(rows[i])
    if run and run.fence == fences[i] and not seen[id] then
      found[#found + 1] = {id = id, run = run}
      seen[id] = true
    end
  end
  return found
end

-- Deletes the jobs of such runs, instead of what their servers ask for them; to these they are stale. Looks at all that
-- it touches before it writes. One whose history cannot be read is left to whoever ends it.
function cancelling.end_before_begin(step, asked)
  local ids = {}
  for i, one in ipairs(asked) do ids[i] = one.id end
  local histories = many('HMGET', step.keys.history, ids)
  for i, one in ipairs(asked) do
    local id, run, p = one.id, one.run, values.read_history(histories[i])
    if p then
      local waited = base.int_text(math.max(0, step.now - run.started))
      values.remember(step, p, run.fence, run.attempt, run.started, run.server, values.text('cancelled') ..
                      values.text('') .. waited)
      p.reason, p.attempt = values.reason_of_cancelled(p), run.attempt - 1
      changes.end_run(step, id, run.permits, not values.has_no_admission(run), true)
      changes.end_for_good(step, id, 'd')
      changes.set_history(step, id, p)
      totals.count_jobs(step, run.queue, 'deleted', 1)
      changes.leave(step, places.line(step, 'processing', run.queue), id)
      changes.enter(step, places.line(step, 'deleted', run.queue), step.now_text, id)
    end
  end
  changes.commit(step)
end
