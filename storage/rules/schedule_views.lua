-- How schedules are read.
-- The value of a schedule: "version n ", its record as "length:bytes", and then its runs: for each of the n jobs that
-- it made last the id as "length:bytes" and "instant ". Of a place: "offset span number".
function schedule_views.read_schedule(value)
  local version, n, at = match(value, '^(%d+) (%d+) ()')
  if not version then return nil end
  local record, behind = values.text_at(value, at)
  return behind and {version = version, n = tonumber(n), record = record, runs = sub(value, behind)}
end
-- The first of some runs: its id, and those behind it. Nothing when there is none.
function schedule_views.first_run(runs)
  local id, at = values.text_at(runs, 1)
  local behind = at and match(runs, '^%d+ ()', at)
  if behind then return id, sub(runs, behind) end
end
-- What stands under a name, or nothing. What cannot be read has version 0, and its bytes for a record.
function schedule_views.schedule_of(step, name)
  local value = call('HGET', step.keys.schedules, name)
  if not value then return nil end
  return schedule_views.read_schedule(value) or {version = '0', n = 0, record = value, runs = ''}
end
-- As an answer: name, version, record, the instant at which it is due or empty, its place or empty, and its runs. A
-- name without a schedule has an empty record.
function schedule_views.schedule_view(step, name)
  local s = schedule_views.schedule_of(step, name) or {version = '0', record = '', runs = ''}
  local at = call('ZSCORE', step.keys.firing, name)
  return {name, s.version, s.record, at and base.int_text(tonumber(at)) or '',
          call('HGET', step.keys.even_places, name) or '', s.runs}
end
