-- Writes.
-- Holds starts for another lease.
-- ARGV[3]: lease in microseconds; from 4, for each start: id, fence.
-- Answer: a digit for each start (0 held, 1 stale).
-- Invariant: only a lease's end, length and number of renewals change. Passes when memory is out.
begin_freeing()
local ids, codes, rows, leases = {}, {}, {}, grouped()
for i = 4, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local before, start_of = many('HMGET', runs, ids), {}
local until_ = whole(now + ARGV[3])
for i, id in ipairs(ids) do
  local start = start_of[id] or (before[i] and read_start(before[i]))
  start_of[id] = start  -- it may be named twice
  codes[i] = '1'
  if start and start.fence == ARGV[2 * i + 3] then
    codes[i] = '0'
    start.lease, start.renewals = ARGV[3], whole(start.renewals + 1)
    rows[#rows + 1] = id
    rows[#rows + 1] = write_start(start)
    add_two(leases, sorted(line('processing', start.queue)), until_, id)
    call('ZADD', ending, 'LT', until_, start.queue)
  end
end
many('HSET', runs, rows)
each_list(leases, 'ZADD')
return table.concat(codes)
