-- Writes.
-- Moves a record that could not be read into quarantine.
-- ARGV[3]: id. ARGV[4], ARGV[5]: its record and history as they were read (no history: it was not looked at); who was
-- changed since stays.
-- Answer: the hint.
begin_freeing()
local id = ARGV[3]
local record, before = call('HGET', jobs, id) or '', call('HGET', history, id) or ''
if record == ARGV[4] and (ARGV[5] == '' or before == ARGV[5]) then
  local at = place_of(id, record)
  if at and at.kind == 'scheduled' then sorted(due) end
  move_to_quarantine(id, at and at.key, at and at.queue or queue_of(record) or 'default')
  if at and at.kind == 'scheduled' then refresh_due(at.queue) end
end
return finish()
