-- Keeps what running handlers say of how far they are.
-- ARGV from 3, for each run: id, fence, report.
-- Answer: a digit for each run (0 kept, 1 stale, 2 kept, and it is asked to end).
-- Invariant: nothing but the report changes, and the run says that there is a history.
local many = lists.many

function calls.progress(step)
  local args = step.args
  local ids, codes, changed, marked = {}, {}, {}, {}
  for i = 3, #args, 3 do ids[#ids + 1] = args[i] end
  local rows, histories = many('HMGET', step.keys.runs, ids), many('HMGET', step.keys.history, ids)
  for i, id in ipairs(ids) do
    local run = rows[i] and values.read_run(rows[i])
    local p = values.read_history(histories[i])
    codes[i] = '1'
    if run and p and run.fence == args[3 * i + 1] then
      codes[i] = values.is_asked_to_end(run) and '2' or '0'
      p.reported = args[3 * i + 2]
      changed[#changed + 1] = id
      changed[#changed + 1] = values.write_history(p)
      if values.has_no_history(run) then
        run.has = values.has_with_history[run.has]
        marked[#marked + 1] = id
        marked[#marked + 1] = values.write_run(run)
      end
    end
  end
  many('HSET', step.keys.history, changed)
  many('HSET', step.keys.runs, marked)
  return table.concat(codes)
end
