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
  local histories, had = many('HMGET', step.keys.history, ids), admissions.admissions_of(step, ids)
  local ended, finals, changed, inline_permits, is_final = {}, {}, {}, {}, {}
  local leaving, entering = lists.grouped(), lists.grouped()
  for i, one in ipairs(asked) do
    local id, run, p = one.id, one.run, values.read_history(histories[i])
    if p then
      local waited = base.int_text(math.max(0, step.now - run.started))
      values.remember(step, p, run.fence, run.attempt, run.started, run.server, values.text('cancelled') ..
                      values.text('') .. waited)
      p.reason, p.attempt = values.reason_of_cancelled(p), run.attempt - 1
      ended[#ended + 1], finals[#finals + 1], is_final[id] = id, {id, 'd'}, true
      if run.permits ~= '' then inline_permits[#ended] = run.permits end
      changed[#changed + 1], changed[#changed + 2] = id, values.write_history(p)
      totals.count_jobs(step, run.queue, 'deleted', 1)
      lists.add_one(leaving, base.sorted(step, places.line(step, 'processing', run.queue)), id)
      lists.add_two(entering, base.sorted(step, places.line(step, 'deleted', run.queue)), step.now_text, id)
    end
  end
  if step.has_flow then continuations.plan_ends(step, finals) end
  totals.keep_totals(step, step.job_counts)
  lists.each_list(entering, 'ZADD')
  lists.each_list(leaving, 'ZREM')
  many('HDEL', step.keys.runs, ended)
  many('HSET', step.keys.history, changed)
  if step.has_flow then continuations.carry_out_ends(step) end
  numbers.keep_number(step)
  waiting.give_back(step, ended, had, inline_permits, is_final)
end
