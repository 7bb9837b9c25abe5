-- Stores new jobs.
-- ARGV from 3, for each job: id, queue, delay in microseconds, record.
-- Answer, for each job: empty when it was stored, else the record that stands under its id already.
-- Refused as a whole when memory is out.
function calls.enqueue(step)
  local args = step.args
  -- One job, due now, of a queue that has got jobs in this minute already: what most calls are. It is
  -- told apart from all others since making what they need takes longer than storing it; store_new says what holds.
  if step.stored[1] and #args == 6 and args[5] == '0' then
    local id, queue, record = args[3], args[4], args[6]
    local row = totals.with_more_enqueued(step, call('HGET', step.keys.totals, queue) or '', 1)
    if row then
      local ready = places.line(step, 'ready', queue)
      call('ZCARD', ready)
      local place = base.int_text(numbers.draw(step, 1))
      call('SADD', step.keys.queues, queue)
      if call('HSETNX', step.keys.jobs, id, record) == 1 then
        call('HSET', step.keys.totals, queue, row)
        call('ZADD', ready, place, id)
        numbers.keep_number(step)
        pcall('PUBLISH', step.keys.channel, args[2] .. ' ' .. queue)
        return {''}
      end
    end
  end

  -- All others.
  local at = {}
  for i = 3, #args, 4 do at[#at + 1] = i end
  local answer, any = new_jobs.store_new(step, at)
  if any then hints.finish(step) end
  return answer
end
