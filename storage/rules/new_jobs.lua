-- Stores new jobs, for calls that do. `at`: where each begins in ARGV: id, queue, delay in microseconds, record.
-- Answers for each job: empty when it was stored, else the record that stands under its id already; and whether any
-- was stored. Looks at all that it will touch before it writes; `finish` is left to the caller.
-- Invariant: a job that is stored is in one line, and its queue is known.
local int_text = base.int_text
local many = lists.many
local line = places.line
function new_jobs.store_new(step, at)
  local ids = {}
  for n = 1, #at do ids[n] = step.args[at[n]] end
  local answer = many('HMGET', step.keys.jobs, ids)

  local records, mine, came, queue_list = {}, {}, {}, {}
  local ready, scheduled, earliest = {}, {}, {}  -- by queue: what its lines are given, and the earliest instant
  for n = 1, #ids do
    local id = ids[n]
    local there = mine[id] or answer[n]
    if there and (mine[id] or not places.is_half_stored(step, id, there)) then
      answer[n] = there
    else
      local from, size = at[n], #records
      local queue, delay, record = step.args[from + 1], tonumber(step.args[from + 2]), step.args[from + 3]
      answer[n], mine[id] = '', record
      records[size + 1], records[size + 2] = id, record
      local its = came[queue]
      if not its then
        its = {enqueued = 0}
        came[queue], queue_list[#queue_list + 1] = its, queue
      end
      its.enqueued = its.enqueued + 1
      local kind, of_kind, score = 'ready', ready, nil
      if delay > 0 then
        kind, of_kind, score = 'scheduled', scheduled, step.now + delay
        earliest[queue] = math.min(earliest[queue] or score, score)
      else
        score = numbers.draw(step, 1)
      end
      local list = of_kind[queue]
      if list then
        local last = #list
        list[last + 1], list[last + 2] = int_text(score), id
      else
        call('ZCARD', line(step, kind, queue))
        if delay > 0 then call('ZCARD', step.keys.due) end
        of_kind[queue] = {int_text(score), id}
      end
    end
  end
  if #records == 0 then return answer, false end

  base.say_layout(step)
  -- first: it looks at the type too, and a queue without jobs does no harm
  call('SADD', step.keys.queues, unpack(queue_list))
  totals.keep_totals(step, came)
  many('HSET', step.keys.jobs, records)
  for n = 1, #queue_list do
    local queue = queue_list[n]
    local now_ready, later = ready[queue], scheduled[queue]
    if now_ready then
      many('ZADD', line(step, 'ready', queue), now_ready)
      hints.has_work(step, queue)
    end
    if later then
      many('ZADD', line(step, 'scheduled', queue), later)
      call('ZADD', step.keys.due, 'LT', int_text(earliest[queue]), queue)
      hints.has_work(step, '@')
    end
  end
  return answer, true
end
