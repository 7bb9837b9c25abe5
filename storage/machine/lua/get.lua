-- Reads.
-- ARGV[3]: id.
-- Answer: id, line, score, record, history or empty, run or, of a throttled job, admission; then its admission or empty;
-- and what it has to do with others and with time, when it has: its group or empty, its unique key or empty, the
-- instants by which it must have begun and be over, 0 for none, then each parent and its digit, see flow_rows.lua. Only
-- the id when it is in quarantine; nothing when there is no such job.
local id = ARGV[3]
local record = call('HGET', jobs, id)
if not record then
  if call('HEXISTS', quarantine, id) == 1 then return {id} end
  return {}
end
local at = place_of(id, record) or {kind = 'lost', score = '0'}
local f, told = has_flow and on_demand().flow_of(id), {}
if f then
  local clock = f.clock or {start_by = 0, finish_by = 0}
  told = {f.group or '', f.key or '', int_text(clock.start_by), int_text(clock.finish_by)}
  for _, parent in ipairs(f.parents or {}) do told[#told + 1], told[#told + 2] = parent.id, parent.state end
end
return {id, at.kind, at.score, record, call('HGET', history, id) or '', run_told(id, at.kind),
        call('HGET', admission, id) or '', told}
