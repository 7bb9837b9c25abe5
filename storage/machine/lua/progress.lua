-- Writes.
-- Keeps what running handlers say of how far they are.
-- ARGV from 3, for each run: id, fence, report.
-- Answer: a digit for each run (0 kept, 1 stale, 2 kept, and it is asked to end).
-- Invariant: nothing but the report changes, and the run says that there is a history.
local ids, codes, changed, marked = {}, {}, {}, {}
for i = 3, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
local rows, histories = many('HMGET', runs, ids), many('HMGET', history, ids)
for i, id in ipairs(ids) do
  local run = rows[i] and read_run(rows[i])
  local p = read_history(histories[i])
  codes[i] = '1'
  if run and p and run.fence == ARGV[3 * i + 1] then
    codes[i] = is_asked_to_end(run) and '2' or '0'
    p.reported = ARGV[3 * i + 2]
    changed[#changed + 1] = id
    changed[#changed + 1] = write_history(p)
    if has_no_history(run) then
      run.has = has_with_history[run.has]
      marked[#marked + 1] = id
      marked[#marked + 1] = write_run(run)
    end
  end
end
many('HSET', history, changed)
many('HSET', runs, marked)
return table.concat(codes)
