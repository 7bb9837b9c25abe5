-- The lines of queues, and where a job is.

-- A job is in exactly one line, and the line is its state. Lines are sorted sets of ids: ready, front, suspect and
-- type by place in line; throttled by the number of the first parking; scheduled by due time; processing by end of
-- lease; final states and quarantined by the instant they were entered.
local function line(kind, queue) return P .. ':' .. kind .. ':' .. queue end
-- A type's own line in a queue; no name holds a slash.
local function type_line(queue, type) return P .. ':type:' .. queue .. '/' .. type end
local function types_of(queue) return P .. ':types:' .. queue end
local final_kinds = {'failed', 'succeeded', 'deleted'}

local function is_suspect(losses) return losses >= suspect_after_losses end
-- The line behind all others of a queue for a job with so many losses.
local function tail(queue, losses) return line(is_suspect(losses) and 'suspect' or 'ready', queue) end

-- A claim or a beat says that somebody serves a queue. Written only when half of it is over: most find it so.
local function mark_served(queue)
  local until_ = tonumber(call('ZSCORE', served, queue) or '0')
  if until_ < now + served_for / 2 or until_ > now + served_for then
    call('ZADD', served, int_text(now + served_for), queue)
  end
end

-- Keeps `due` exact after jobs left a scheduled line.
local function refresh_due(queue)
  local first = call('ZRANGE', line('scheduled', queue), 0, 0, 'WITHSCORES')
  if first[2] then call('ZADD', due, first[2], queue) else call('ZREM', due, queue) end
end

-- All that runs: the id and the row of each run.
local function all_runs()
  local found = {}
  for _, queue in ipairs(call('SMEMBERS', queues)) do
    local ids = call('ZRANGE', line('processing', queue), 0, -1)
    for i, row in ipairs(many('HMGET', runs, ids)) do
      if row then found[#found + 1] = {id = ids[i], row = row} end
    end
  end
  return found
end

-- The kinds of lines that each queue may have, but for those of types.
local line_kinds = {'processing', 'ready', 'front', 'suspect', 'scheduled', 'throttled', 'awaiting', 'failed', 'succeeded',
                    'deleted'}
-- Every line that a queue may have now, with the names of its kinds; type lines as type:NAME.
local function lines_of(queue)
  local kinds, keys = {}, {}
  for _, kind in ipairs(line_kinds) do
    kinds[#kinds + 1], keys[#keys + 1] = kind, line(kind, queue)
  end
  for _, name in ipairs(call('SMEMBERS', types_of(queue))) do
    kinds[#kinds + 1], keys[#keys + 1] = 'type:' .. name, type_line(queue, name)
  end
  return kinds, keys
end
-- All waiting lines but the throttled one.
local function is_enqueued(kind)
  return kind == 'ready' or kind == 'front' or kind == 'suspect' or sub(kind, 1, 5) == 'type:'
end
-- The start of a job that runs, or the admission of one that is throttled; empty when it has none.
local function run_told(id, kind) return call('HGET', kind == 'throttled' and admission or runs, id) or '' end
local function place_at(id, queue, kind, key)
  local score = call('ZSCORE', key, id)
  return score and {kind = kind, key = key, score = int_text(tonumber(score)), queue = queue}
end
local function place_in(id, queue, kinds, keys)
  for i, key in ipairs(keys) do
    local found = place_at(id, queue, kinds[i], key)
    if found then return found end
  end
end
-- Where a job is in the lines of the queue and the type that its record names.
local function place_at_home(id, record)
  local home = record and queue_of(record)
  if not home then return nil end
  for _, kind in ipairs(line_kinds) do
    local found = place_at(id, home, kind, line(kind, home))
    if found then return found end
  end
  local its_type = type_of(record)
  return place_at(id, home, 'type:' .. its_type, type_line(home, its_type))
end
-- A step that was to store it ended in its middle: it has a record and no place, and nothing has happened to it. One that
-- has to do with others is left to the repair.
local function is_half_stored(id, record)
  if not queue_of(record) or place_at_home(id, record) then return false end
  for _, key in ipairs({runs, history, flow}) do
    if call('HEXISTS', key, id) == 1 then return false end
  end
  return true
end
-- Where a job is: its line and its score there. A record that is damaged may name a wrong queue and type: only then are
-- all lines looked at.
local function place_of(id, record)
  local found = place_at_home(id, record)
  if found then return found end
  for _, queue in ipairs(call('SMEMBERS', queues)) do
    local found = place_in(id, queue, lines_of(queue))
    if found then return found end
  end
end
