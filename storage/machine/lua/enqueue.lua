-- Writes, and its answer is a promise.
-- Stores new jobs.
-- ARGV from 3, for each job: id, queue, delay in microseconds, record.
-- Answer, for each job: empty when it was stored, else the record that stands under its id already.
-- Refused as a whole when memory is out.

-- One job, due now, of a queue that has got jobs in this minute already: what most calls are. It is told apart from all
-- others since making what they need takes longer than storing it; store_new says what holds.
if stored[1] and #ARGV == 6 and ARGV[5] == '0' then
  local id, queue, record = ARGV[3], ARGV[4], ARGV[6]
  local row = call('HEXISTS', jobs, id) == 0 and with_more_enqueued(call('HGET', totals, queue) or '', 1)
  if row then
    local ready = line('ready', queue)
    call('ZCARD', ready)
    local place = int_text(draw(1))
    call('SADD', queues, queue)
    call('HSET', totals, queue, row)
    call('HSET', jobs, id, record)
    call('ZADD', ready, place, id)
    keep_number()
    redis.pcall('PUBLISH', channel, ARGV[2] .. ' ' .. queue)
    return {''}
  end
end

-- All others.
local at = {}
for i = 3, #ARGV, 4 do at[#at + 1] = i end
local answer, any = store_new(at)
if any then finish() end
return answer
