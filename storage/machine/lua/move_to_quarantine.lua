-- Writes.
-- Moves records that could not be read into quarantine.
-- ARGV from 3, for each: id, and its record and history as they were read (no history: it was not looked at); who was
-- changed since stays.
-- Answer: the hint.
begin_freeing()
for i = 3, #ARGV, 3 do
  local id = ARGV[i]
  local record, before = call('HGET', jobs, id) or '', call('HGET', history, id) or ''
  if record == ARGV[i + 1] and (ARGV[i + 2] == '' or before == ARGV[i + 2]) then
    local at = place_of(id, record)
    if at and at.kind == 'scheduled' then sorted(due) end
    move_to_quarantine(id, at and at.key, at and at.queue or queue_of(record) or 'default')
    if at and at.kind == 'scheduled' then refresh_due(at.queue) end
  end
end
return finish()
