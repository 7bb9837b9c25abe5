-- Stores new jobs, for calls that do. `at`: where each begins in ARGV: id, queue, delay in microseconds, record.
-- Answers for each job: empty when it was stored, else the record that stands under its id already; and whether any
-- was stored. Looks at all that it will touch before it writes; `finish` is left to the caller.
-- Invariant: a job that is stored is in one line, and its queue is known.
function new_jobs.store_new(step, at)
  local args, ids, mine = step.args, {}, {}
  for n = 1, #at do ids[n] = args[at[n]] end
  local answer = lists.many('HMGET', step.keys.jobs, ids)
  for n, id in ipairs(ids) do
    local there = mine[id] or answer[n]
    if there and (mine[id] or not places.is_half_stored(step, id, there)) then
      answer[n] = there
    else
      local queue, delay, record = args[at[n] + 1], tonumber(args[at[n] + 2]), args[at[n] + 3]
      answer[n], mine[id] = '', record
      changes.store(step, id, queue, record)
      if delay > 0 then
        changes.schedule(step, queue, step.now + delay, id)
      else
        changes.enter(step, places.line(step, 'ready', queue), base.int_text(numbers.draw(step, 1)), id)
        hints.has_work(step, queue)
      end
    end
  end
  local any = next(mine) ~= nil
  if any then changes.commit(step) end
  return answer, any
end
