-- Runs that were asked to end before their handlers began.

-- Of runs, each its id and fence, those that are current and were asked to end: each its id and run, once.
local function asked_among(rows, ids, fences)
  local found, seen = {}, {}
  for i, id in ipairs(ids) do
    local run = rows[i] and match(rows[i], '^%d+ %d+ [57] ') and read_run(rows[i])
    if run and run.fence == fences[i] and not seen[id] then
      found[#found + 1] = {id = id, run = run}
      seen[id] = true
    end
  end
  return found
end

-- Deletes the jobs of such runs, instead of what their servers ask for them; to these they are stale. Looks at all that
-- it touches before it writes. One whose history cannot be read is left to whoever ends it.
local function end_before_begin(asked)
  local ids = {}
  for i, one in ipairs(asked) do ids[i] = one.id end
  local histories, had = many('HMGET', history, ids), admissions_of(ids)
  local ended, finals, changed, inline_permits, is_final = {}, {}, {}, {}, {}
  local leaving, entering = grouped(), grouped()
  for i, one in ipairs(asked) do
    local id, run, p = one.id, one.run, read_history(histories[i])
    if p then
      local waited = int_text(math.max(0, now - run.started))
      remember(p, run.fence, run.attempt, run.started, run.server, text('cancelled') .. text('') .. waited)
      p.reason, p.attempt = reason_of_cancelled(p), run.attempt - 1
      ended[#ended + 1], finals[#finals + 1], is_final[id] = id, {id, 'd'}, true
      if run.permits ~= '' then inline_permits[#ended] = run.permits end
      changed[#changed + 1], changed[#changed + 2] = id, write_history(p)
      count_jobs(run.queue, 'deleted', 1)
      add_one(leaving, sorted(line('processing', run.queue)), id)
      add_two(entering, sorted(line('deleted', run.queue)), now_text, id)
    end
  end
  if has_flow then plan_ends(finals) end
  keep_totals(job_counts)
  each_list(entering, 'ZADD')
  each_list(leaving, 'ZREM')
  many('HDEL', runs, ended)
  many('HSET', history, changed)
  if has_flow then carry_out_ends() end
  keep_number()
  give_back(ended, had, inline_permits, is_final)
end
