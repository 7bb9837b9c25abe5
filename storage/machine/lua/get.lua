-- Reads.
-- ARGV[3]: id.
-- Answer: id, line, score, record, history or empty, run or, of a throttled job, admission; then its admission or empty;
-- only the id when it is in quarantine; nothing when there is no such job.
local id = ARGV[3]
local record = call('HGET', jobs, id)
if not record then
  if call('HEXISTS', quarantine, id) == 1 then return {id} end
  return {}
end
local at = place_of(id, record) or {kind = 'lost', score = '0'}
return {id, at.kind, at.score, record, call('HGET', history, id) or '', run_told(id, at.kind),
        call('HGET', admission, id) or ''}
