-- The lines of queues, and where a job is.

-- A job is in exactly one line, and the line is its state. Lines are sorted sets of ids: ready, front, suspect and
-- type by place in line; throttled by the number of the first parking; scheduled by due time; processing by end of
-- lease; final states and quarantined by the instant they were entered.
function places.line(step, kind, queue) return step.prefix .. ':' .. kind .. ':' .. queue end
-- A type's own line in a queue; no name holds a slash.
function places.type_line(step, queue, type) return step.prefix .. ':type:' .. queue .. '/' .. type end
function places.types_of(step, queue) return step.prefix .. ':types:' .. queue end
places.final_kinds = {'failed', 'succeeded', 'deleted'}
function places.is_final(kind) return kind == 'failed' or kind == 'succeeded' or kind == 'deleted' end

function places.is_suspect(losses) return losses >= constants.suspect_after_losses end
-- The line behind all others of a queue for a job with so many losses.
function places.tail(step, queue, losses)
  return places.line(step, places.is_suspect(losses) and 'suspect' or 'ready', queue)
end

-- A claim or a beat says that somebody serves a queue. Written only when half of it is over: most find it so.
function places.mark_served(step, queue)
  local until_ = tonumber(call('ZSCORE', step.keys.served, queue) or '0')
  if until_ < step.now + constants.served_for / 2 or until_ > step.now + constants.served_for then
    call('ZADD', step.keys.served, base.int_text(step.now + constants.served_for), queue)
  end
end

-- Keeps `due` exact after jobs left a scheduled line.
function places.refresh_due(step, queue)
  local first = call('ZRANGE', places.line(step, 'scheduled', queue), 0, 0, 'WITHSCORES')
  if first[2] then call('ZADD', step.keys.due, first[2], queue) else call('ZREM', step.keys.due, queue) end
end

-- All that runs: the id and the row of each run.
function places.all_runs(step)
  local found = {}
  for _, queue in ipairs(call('SMEMBERS', step.keys.queues)) do
    local ids = call('ZRANGE', places.line(step, 'processing', queue), 0, -1)
    for i, row in ipairs(lists.many('HMGET', step.keys.runs, ids)) do
      if row then found[#found + 1] = {id = ids[i], row = row} end
    end
  end
  return found
end

-- The kinds of lines that each queue may have, but for those of types.
places.line_kinds = {'processing', 'ready', 'front', 'suspect', 'scheduled', 'throttled', 'awaiting', 'failed',
                     'succeeded', 'deleted'}
-- Every line that a queue may have now, with the names of its kinds; type lines as type:NAME.
function places.lines_of(step, queue)
  local kinds, its_keys = {}, {}
  for _, kind in ipairs(places.line_kinds) do
    kinds[#kinds + 1], its_keys[#its_keys + 1] = kind, places.line(step, kind, queue)
  end
  for _, name in ipairs(call('SMEMBERS', places.types_of(step, queue))) do
    kinds[#kinds + 1], its_keys[#its_keys + 1] = 'type:' .. name, places.type_line(step, queue, name)
  end
  return kinds, its_keys
end
-- All waiting lines but the throttled one.
function places.is_enqueued(kind)
  return kind == 'ready' or kind == 'front' or kind == 'suspect' or sub(kind, 1, 5) == 'type:'
end
-- The start of a job that runs, or the admission of one that is throttled; empty when it has none.
function places.run_told(step, id, kind)
  return call('HGET', kind == 'throttled' and step.keys.admission or step.keys.runs, id) or ''
end
local function place_at(id, queue, kind, key)
  local score = call('ZSCORE', key, id)
  return score and {kind = kind, key = key, score = base.int_text(tonumber(score)), queue = queue}
end
local function place_in(id, queue, kinds, keys)
  for i, key in ipairs(keys) do
    local found = place_at(id, queue, kinds[i], key)
    if found then return found end
  end
end
-- Where a job is in the lines of the queue and the type that its record names.
function places.place_at_home(step, id, record)
  local home = record and values.queue_of(record)
  if not home then return nil end
  for _, kind in ipairs(places.line_kinds) do
    local found = place_at(id, home, kind, places.line(step, kind, home))
    if found then return found end
  end
  local its_type = values.type_of(record)
  return place_at(id, home, 'type:' .. its_type, places.type_line(step, home, its_type))
end
-- A step that was to store it ended in its middle: it has a record and no place, and nothing has happened to it. One
-- that has to do with others is left to the repair.
function places.is_half_stored(step, id, record)
  if not values.queue_of(record) or places.place_at_home(step, id, record) then return false end
  for _, key in ipairs({step.keys.runs, step.keys.history, step.keys.flow}) do
    if call('HEXISTS', key, id) == 1 then return false end
  end
  return true
end
-- Where a job is: its line and its score there. A record that is damaged may name a wrong queue and type: only then are
-- all lines looked at.
function places.place_of(step, id, record)
  local found = places.place_at_home(step, id, record)
  if found then return found end
  for _, queue in ipairs(call('SMEMBERS', step.keys.queues)) do
    local found = place_in(id, queue, places.lines_of(step, queue))
    if found then return found end
  end
end
-- In which queue's line of quarantine a job stands, and since when; nothing when it is in none. `bytes`: what is kept
-- of it, whose record most often names the queue.
function places.place_in_quarantine(step, id, bytes)
  local home = values.queue_of(values.text_at(bytes, 1) or '') or constants.default_queue
  local since = call('ZSCORE', places.line(step, 'quarantined', home), id)
  if since then return home, since end
  for _, queue in ipairs(call('SMEMBERS', step.keys.queues)) do
    since = call('ZSCORE', places.line(step, 'quarantined', queue), id)
    if since then return queue, since end
  end
end

-- A job as it is stored, and its place. Its id alone when it is in quarantine, nothing of one that is not there.
function places.stored_job(step, id)
  local record = call('HGET', step.keys.jobs, id)
  if not record then return {id = call('HEXISTS', step.keys.quarantine, id) == 1 and id or nil} end
  local at = places.place_of(step, id, record) or {kind = 'lost', score = '0', queue = values.queue_of(record) or ''}
  return {id = id, kind = at.kind, score = at.score, record = record,
          history = call('HGET', step.keys.history, id) or nil, run = places.run_told(step, id, at.kind),
          admission = call('HGET', step.keys.admission, id) or nil}, at
end
-- The state of a job that stands in a line of this kind.
function places.state_of(kind) return places.is_enqueued(kind) and 'enqueued' or kind end
