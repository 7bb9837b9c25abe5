-- How schedules are read.
-- Each is stored by its names, as a schedule_row has them: its version, its record, and the jobs that it made last.
-- Runs that cannot be read are left out, and their number is `lost_runs`.
function schedule_views.read_schedule(bytes)
  local s = values.unpacked(bytes, {version = 'number', record = 'string', runs = 'table'})
  if not s then return nil end
  local runs, lost = {}, 0
  for i = math.max(1, #s.runs - constants.runs_remembered + 1), #s.runs do
    local run = s.runs[i]
    local is_sound = type(run) == 'table' and type(run.id) == 'string' and type(run.at) == 'number'
    if is_sound then runs[#runs + 1] = {id = run.id, at = run.at} else lost = lost + 1 end
  end
  return {version = s.version, record = s.record, runs = runs, lost_runs = lost}
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
