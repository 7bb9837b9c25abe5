-- Raises the layout of a store that an older Sluice made to ours, in this one step. No other call runs at another
-- layout than its own; `schema`, and the last beat in front of each of `servers`, are the same in all.
-- ARGV[3]: the layout that a file has by its tables, else empty.
-- Nothing is done while a server lives: with the next step it would have to end. Who was silent for a minute does not
-- live; the fences of its runs are refused like its steps.
-- Answer: the layout that was found, empty for no store; then the names of servers that live.
local layout = base.layout

-- How layout 4 told what people did: "number at until count ", then as "length:bytes" each who it was, through what and
-- what was done, and behind these the first of what it was done to.
local function action_of_4(value)
  local number, at, until_, count, place = match(value, '^(%d+) (%d+) (%d+) (%d+) ()')
  local a = {number = tonumber(number), at = tonumber(at), ['until'] = tonumber(until_), count = tonumber(count),
             by = {}, about = {}}
  if place then a.by.name, place = values.text_at(value, place) end
  if place then a.by.through, place = values.text_at(value, place) end
  if place then a.what, place = values.text_at(value, place) end
  while place and place <= #value do a.about[#a.about + 1], place = values.text_at(value, place) end
  return place and a
end
-- A schedule: "version n ", its record as "length:bytes", and for each of the n jobs that it made last the id as
-- "length:bytes" and "instant ". Jobs that cannot be read are left out, and those behind them.
local function schedule_of_4(value)
  local version, at = match(value, '^(%d+) %d+ ()')
  local s, id, occurred = {version = tonumber(version), runs = {}}, nil, nil
  if at then s.record, at = values.text_at(value, at) end
  while at and at <= #value do
    id, at = values.text_at(value, at)
    if at then occurred, at = match(value, '^(%d+) ()', at) end
    if at then s.runs[#s.runs + 1] = {id = id, at = tonumber(occurred)} end
  end
  return s.record and s
end
-- And its place: "offset span number".
local function place_of_4(value)
  local offset, span, number = match(value, '^(%d+) (%d+) (%d+)$')
  return offset and {offset = tonumber(offset), span = tonumber(span), number = tonumber(number)}
end
local function fields_of_4(key, read)
  local fields, rows = {}, call('HGETALL', key)
  for i = 1, #rows, 2 do
    local its = read(rows[i + 1])
    if its then fields[#fields + 1], fields[#fields + 2] = rows[i], pack_value(its) end
  end
  return fields
end

-- How a layout becomes the next one, by its number: looks at all that it will touch before its first write. What cannot
-- be read stays as it is, and is told by the audit.
local raises = {}
-- What people did, schedules and their places are stored by their names. Servers, none of which lives, are forgotten.
raises[4] = function(step)
  local schedules, places_of_all = fields_of_4(step.keys.schedules, schedule_of_4),
    fields_of_4(step.keys.even_places, place_of_4)
  local acts, gone = call('ZRANGE', step.keys.operator_log, 0, -1, 'WITHSCORES'), {}
  for _, id in ipairs(call('HKEYS', step.keys.servers)) do gone[id] = true end
  call('HLEN', step.keys.claims)
  for i = 1, #acts, 2 do
    local a = action_of_4(acts[i])
    if a then
      call('ZADD', step.keys.operator_log, acts[i + 1], pack_value(a))
      call('ZREM', step.keys.operator_log, acts[i])
    end
  end
  lists.many('HSET', step.keys.schedules, schedules)
  lists.many('HSET', step.keys.even_places, places_of_all)
  gone_servers.forget_claims(step, gone)
  call('DEL', step.keys.servers)
end

-- The name of a server, of any layout: before 5 its row had "pid running " and then its name.
local function name_of_server(id, row)
  local its = values.read_server(row)
  if its then return its.name end
  local at = match(row, '^%d+ %d+ %d+ %d+ ()')
  return at and values.text_at(row, at) or id
end

function calls.raise(step)
  local args = step.args
  local said = call('GET', step.keys.schema)
  local found = said or args[3]
  if found == layout or (found == '' and not said) then return {found} end
  local from, to = tonumber(match(found, '^[1-9]%d*$')), tonumber(layout)
  local is_known = from and from < to
  for n = from or 0, to - 1 do is_known = is_known and raises[n] end
  if not is_known then return {err = 'LAYOUT ' .. found .. ' ' .. layout} end

  local answer, alive_within = {found}, 60000000
  local rows = call('HGETALL', step.keys.servers)
  for i = 1, #rows, 2 do
    local beat = match(rows[i + 1], '^(%d+) %d+ ')
    if beat and tonumber(beat) > step.now - alive_within then
      answer[#answer + 1] = name_of_server(rows[i], rows[i + 1])
    end
  end
  if #answer > 1 then return answer end

  for n = from, to - 1 do raises[n](step) end
  call('SET', step.keys.schema, layout)
  return answer
end
