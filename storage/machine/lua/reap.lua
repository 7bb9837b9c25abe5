-- Writes.
-- Takes starts away whose renewals are still those that were seen.
-- ARGV[3]: losses at which a job is failed. ARGV[4], ARGV[5]: the reason, with %d for the number: of the start when the
-- job goes back, of the losses when it is failed. ARGV[6]: cause, error and time waited of the start, as in a past.
-- From 7, for each start: id, fence, renewals.
-- Answer: a digit for each start (0 taken, 1 stale, 2 taken and failed for good); the hint.
-- Invariants: as for settle; the job waits in its queue again, from its second loss on as a suspect, or is failed; its
-- permits go back and on. Passes when memory is out.
begin_freeing()
local ids, codes = {}, {}
for i = 7, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
local rows, pasts = many('HMGET', runs, ids), many('HMGET', past, ids)
local ended, changed, leaving, entering, broken = {}, {}, grouped(), grouped(), {}
local done, is_final, took = {}, {}, {}  -- took: see give_back
for i, id in ipairs(ids) do
  local start = rows[i] and not done[id] and read_start(rows[i])
  codes[i] = '1'
  if start and start.fence == ARGV[3 * i + 5] and start.renewals == ARGV[3 * i + 6] then
    codes[i] = '0'
    done[id] = true
    local processing = line('processing', start.queue)
    local p = read_past(pasts[i])
    if not p then
      may_put_aside(start.queue)
      broken[#broken + 1] = {id = id, key = processing, queue = start.queue}
    else
      p.losses = p.losses + 1
      local give_up = p.losses >= tonumber(ARGV[3])
      remember(p, start.fence, start.attempt, start.started, start.server, ARGV[6])
      p.reason = give_up and format(ARGV[5], p.losses) or format(ARGV[4], start.attempt)
      p.attempt = start.attempt - 1
      ended[#ended + 1] = id
      count_jobs(start.queue, 'lost', 1)
      if give_up then count_jobs(start.queue, 'failed', 1) end
      is_final[id] = give_up
      if give_up then codes[i] = '2' end
      if start.permits ~= '' then took[#ended] = start.permits end
      changed[#changed + 1] = id
      changed[#changed + 1] = write_past(p)
      add_one(leaving, sorted(processing), id)
      if not give_up then has_work(start.queue) end
      local target = give_up and line('failed', start.queue) or tail(start.queue, p.losses)
      add_two(entering, sorted(target), whole(give_up and now or draw(1)), id)
    end
  end
end
local had = admissions_if_any(ended)
if next(took) or #broken > 0 then throttling().check_throttlers() end
keep_totals()
each_list(leaving, 'ZREM')
many('HDEL', runs, ended)
many('HSET', past, changed)
each_list(entering, 'ZADD')
for _, b in ipairs(broken) do put_aside(b.id, b.key, b.queue) end
give_back_if_any(ended, had, took, is_final)
return {table.concat(codes), finish()}
