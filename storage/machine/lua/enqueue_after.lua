-- Writes, and its answer is a promise.
-- Stores new jobs that run after others.
-- ARGV from 3, for each job: id; queue; delay in microseconds, from its release on; record; on, unless and need, see
-- continuations.lua; what an end counts as that nobody can tell, since the parent is not there: r (as wanted), d (not as
-- wanted) or empty, which refuses the job; the number of its parents, and their ids.
-- Answer, for each job: stored; there, and the record that stands under its id already; or missing, and the parent; each
-- as two values. Last the hint.
-- Invariants: as for store_new; see continuations.lua. A parent is stored already, or stands before its child here, so
-- that nobody waits for itself. Refused as a whole when memory is out.
local answer, mine, ends_of, records, queue_list, known = {}, {}, {}, {}, {}, {}
local told = on_demand().end_of
local at = 3
call('HLEN', flow)
while at <= #ARGV do
  local id, queue, delay, record = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3]
  local f = {on = ARGV[at + 4], unless = ARGV[at + 5], need = tonumber(ARGV[at + 6]), delay = delay, is_unmet = false,
             parents = {}}
  local if_missing, count = ARGV[at + 7], tonumber(ARGV[at + 8])
  local there, missing, unmet, letter_of_unmet = mine[id] or call('HGET', jobs, id), nil, nil, nil
  for i = 1, there and 0 or count do
    local parent = ARGV[at + 8 + i]
    local letter = ends_of[parent]
    if letter == nil then
      letter = told(parent, mine)
      ends_of[parent] = letter
    end
    if letter == 'missing' and if_missing == '' then missing = missing or parent end
    local state = '0'
    if letter == 'missing' then state = if_missing == 'r' and '3' or '4'
    elseif letter ~= '' then state = string.find(f.on, letter, 1, true) and '1' or '2' end
    if state == '2' or state == '4' then unmet, letter_of_unmet = parent, letter end
    f.parents[i] = {id = parent, state = state}
  end
  local n = #answer
  if there then answer[n + 1], answer[n + 2] = 'there', there
  elseif missing then answer[n + 1], answer[n + 2] = 'missing', missing
  else
    answer[n + 1], answer[n + 2] = 'stored', ''
    mine[id] = record
    records[#records + 1], records[#records + 2] = id, record
    if not known[queue] then
      known[queue], queue_list[#queue_list + 1] = true, queue
    end
    count_jobs(queue, 'enqueued', 1)
    on_demand().place_new(id, queue, f, unmet, letter_of_unmet)
    ends_of[id] = f.is_unmet and 'd' or ''
  end
  at = at + 9 + count
end
if #records > 0 then
  say_layout()
  call('SADD', queues, unpack(queue_list))  -- first: it looks at the type too, and a queue without jobs does no harm
  keep_totals(job_counts)
  many('HSET', jobs, records)
  on_demand().carry_out_ends()
end
answer[#answer + 1] = finish()
return answer
