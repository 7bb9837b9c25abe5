-- Writes.
-- Holds runs for another lease.
-- ARGV[3]: lease in microseconds; from 4, for each run: id, fence.
-- Answer: a digit for each run (0 held, 1 stale, 2 held, and it is asked to end).
-- Invariant: only a lease's end, length and number of renewals change. Passes when memory is out.
begin_freeing()
local ids, codes, rows, leases = {}, {}, {}, grouped()
for i = 4, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local before, run_of = many('HMGET', runs, ids), {}
local until_ = int_text(now + ARGV[3])
for i, id in ipairs(ids) do
  local run = run_of[id] or (before[i] and read_run(before[i]))
  run_of[id] = run  -- it may be named twice
  codes[i] = '1'
  if run and run.fence == ARGV[2 * i + 3] then
    codes[i] = is_asked_to_end(run) and '2' or '0'
    run.lease, run.renewals = ARGV[3], int_text(run.renewals + 1)
    rows[#rows + 1] = id
    rows[#rows + 1] = write_run(run)
    add_two(leases, sorted(line('processing', run.queue)), until_, id)
    call('ZADD', ending, 'LT', until_, run.queue)
  end
end
many('HSET', runs, rows)
each_list(leases, 'ZADD')
return table.concat(codes)
