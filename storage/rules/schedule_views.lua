-- How schedules are read.
-- Each is stored by its names, as a schedule_row has them: its version, its record, and the jobs that it made last.
function schedule_views.read_schedule(bytes)
  local s = values.unpacked(bytes, {version = 'number', record = 'string', runs = 'table'})
  local beyond = s and #s.runs - constants.runs_remembered or 0
  if beyond > 0 then s.runs = {unpack(s.runs, beyond + 1)} end
  for _, run in ipairs(s and s.runs or {}) do
    if type(run) ~= 'table' or type(run.id) ~= 'string' or type(run.at) ~= 'number' then return nil end
  end
  return s
end
-- What stands under a name, or nothing. What cannot be read has version 0, and its bytes for a record.
function schedule_views.schedule_of(step, name)
  local value = call('HGET', step.keys.schedules, name)
  if not value then return nil end
  return schedule_views.read_schedule(value) or {version = 0, record = value, runs = {}}
end
-- A schedule_place; nothing when it is none.
function schedule_views.place_of(bytes)
  return values.unpacked(bytes, {offset = 'number', span = 'number', number = 'number'})
end
-- As a schedule_row (storage/schedules.hpp). A name without a schedule has an empty record.
function schedule_views.schedule_view(step, name)
  local s = schedule_views.schedule_of(step, name) or {version = 0, record = '', runs = {}}
  local place = call('HGET', step.keys.even_places, name)
  local at = call('ZSCORE', step.keys.firing, name)
  return {name = name, version = s.version, record = s.record, next_at = at and base.int_text(tonumber(at)) or nil,
          place = place and schedule_views.place_of(place) or nil, runs = s.runs}
end
-- The same; nothing of a name without a schedule.
function schedule_views.found(step, name)
  return call('HEXISTS', step.keys.schedules, name) == 1 and schedule_views.schedule_view(step, name) or nil
end
