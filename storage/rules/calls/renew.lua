-- Holds runs for another lease.
-- ARGV[3]: lease in microseconds; from 4, for each run: id, fence.
-- Answer: a digit for each run (0 held, 1 stale, 2 held, and it is asked to end).
-- Invariant: only a lease's end, length and number of renewals change. Passes when memory is out.
function calls.renew(step)
  local args = step.args
  local ids, codes, rows, leases = {}, {}, {}, {}
  for i = 4, #args, 2 do ids[#ids + 1] = args[i] end
  local before, run_of = lists.many('HMGET', step.keys.runs, ids), {}
  local until_ = base.int_text(step.now + args[3])
  for i, id in ipairs(ids) do
    local run = run_of[id] or (before[i] and values.read_run(before[i]))
    run_of[id] = run  -- it may be named twice
    codes[i] = '1'
    if run and run.fence == args[2 * i + 3] then
      codes[i] = values.is_asked_to_end(run) and '2' or '0'
      run.lease, run.renewals = args[3], base.int_text(run.renewals + 1)
      rows[#rows + 1] = id
      rows[#rows + 1] = values.write_run(run)
      lists.add_two(leases, base.sorted(step, places.line(step, 'processing', run.queue)), until_, id)
      call('ZADD', step.keys.ending, 'LT', until_, run.queue)
    end
  end
  lists.many('HSET', step.keys.runs, rows)
  lists.each_list(leases, 'ZADD')
  return table.concat(codes)
end
