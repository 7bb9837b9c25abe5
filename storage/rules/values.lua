-- How stored values are read and written.
-- "length:bytes" at a position: the bytes, and the position behind them. Nothing when it is not that.
function values.text_at(s, at)
  local length, from = match(s, '^(%d+):()', at)
  if not length then return nil end
  local to = from + length
  if to - 1 > #s then return nil end
  return sub(s, from, to - 1), to
end
-- Whole numbers as texts, of which small ones come often: Lua would print each anew.
local small = {}
for n = 0, 1000 do small[n] = n .. '' end
function values.digits(n) return small[n] or format('%d', n) end
function values.text(s) return (small[#s] or format('%d', #s)) .. ':' .. s end

-- The type and queue in front of a record (core/codec): a byte that is odd when a queue is named, and behind it texts
-- of at most 200 bytes with their lengths in one or two bytes.
local function name_at(s, at)
  local n = byte(s, at)
  if not n then return nil end
  at = at + 1
  if n >= 128 then
    n = n - 128 + 128 * (byte(s, at) or 0)
    at = at + 1
  end
  if n == 0 or at + n - 1 > #s then return nil end
  return sub(s, at, at + n - 1), at + n
end
function values.type_of(record) return (name_at(record, 2)) end
-- Its queue, and the position behind it.
function values.queue_at(record)
  local _, at = name_at(record, 2)
  if not at then return nil end
  if byte(record, 1) % 2 == 0 then return constants.default_queue, at end
  return name_at(record, at)
end
function values.queue_of(record) return (values.queue_at(record)) end
-- Both, for who looks at each job.
function values.names_of(record)
  local kind, at = name_at(record, 2)
  if not kind or byte(record, 1) % 2 == 0 then return kind, constants.default_queue end
  return kind, (name_at(record, at))
end

-- A run: "fence attempt has started lease renewals op ", then as "length:bytes" the queue and the permits that its
-- claim took (each "length:bytes" again), then the server. has: 1 a history, 2 an admission, 3 both; 0 when surely
-- neither; 4 more when it was asked to end: then there is a history, whose reason says by whom.
function values.read_run(row)
  local fence, attempt, has, started, lease, renewals, op, at =
    match(row, '^(%d+) (%d+) ([0-357]) (%d+) (%d+) (%d+) (%d+) ()')
  local queue, permits
  if fence then queue, at = values.text_at(row, at) end
  if queue then permits, at = values.text_at(row, at) end
  if not permits then return nil end
  return {fence = fence, attempt = tonumber(attempt), has = has, started = started, lease = lease,
          renewals = renewals, op = op, queue = queue, permits = permits, server = sub(row, at)}
end
function values.write_run(s)
  return s.fence .. ' ' .. s.attempt .. ' ' .. s.has .. ' ' .. s.started .. ' ' .. s.lease .. ' ' ..
         s.renewals .. ' ' .. s.op .. ' ' .. values.text(s.queue) .. values.text(s.permits) .. s.server
end
function values.has_no_history(run) return run.has == '0' or run.has == '2' end
function values.has_no_admission(run) return run.has == '0' or run.has == '1' or run.has == '5' end
function values.is_asked_to_end(run) return run.has == '5' or run.has == '7' end
values.has_with_history = {['0'] = '1', ['2'] = '3'}
values.has_with_admission = {['0'] = '2', ['1'] = '3', ['5'] = '7'}
values.has_when_asked = {['0'] = '5', ['1'] = '5', ['2'] = '7', ['3'] = '7'}

-- The history: "attempt losses settled failures n ", then as "length:bytes" each the reason, the result, the reported
-- progress, and the last n runs, oldest first. No history is that of a job that nothing has happened to.
function values.read_history(value)
  if not value then
    return {attempt = 0, losses = 0, settled = '0', failures = 0, n = 0, reason = '', result = '', reported = '',
            ended_runs = ''}
  end
  local p = {}
  local attempt, losses, settled, failures, n, at = match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) ()')
  if not attempt then return nil end
  p.attempt, p.losses, p.settled = tonumber(attempt), tonumber(losses), settled
  p.failures, p.n = tonumber(failures), tonumber(n)
  if p.n > constants.history_limit then return nil end  -- nobody wrote that, and `remember` would count down from it
  p.reason, at = values.text_at(value, at)
  if not at then return nil end
  p.result, at = values.text_at(value, at)
  if not at then return nil end
  p.reported, at = values.text_at(value, at)
  if not at then return nil end
  p.ended_runs = sub(value, at)
  return p
end
-- `said`: its reason, result and report, where they come as these three texts.
function values.write_history(p, said)
  return p.attempt .. ' ' .. p.losses .. ' ' .. p.settled .. ' ' .. p.failures .. ' ' .. p.n .. ' ' ..
         (said or values.text(p.reason) .. values.text(p.result) .. values.text(p.reported)) .. p.ended_runs
end
-- The same of a job that has had one run and lost none.
function values.history_of_one(attempt, settled, failures, said, ended)
  return attempt .. ' 0 ' .. settled .. ' ' .. failures .. ' 1 ' .. said .. values.text(ended)
end
-- An ended run: "fence attempt claimed ended ", then as "length:bytes" its server, the cause and the error, and last
-- how many microseconds it waited for its handler to begin.
function values.remember(step, p, fence, attempt, claimed, server, how)
  local ended = fence .. ' ' .. attempt .. ' ' .. claimed .. ' ' .. step.now_text .. ' ' .. values.text(server) .. how
  p.ended_runs = p.ended_runs .. values.text(ended)
  p.n = p.n + 1
  while p.n > constants.history_limit do
    local _, behind = values.text_at(p.ended_runs, 1)
    p.ended_runs = behind and sub(p.ended_runs, behind) or ''
    p.n = p.n - 1
  end
  if #p.ended_runs <= constants.max_history_bytes then return end
  -- The errors of the oldest are cut in their middle, as many as it takes; and if that is not enough, the oldest go.
  local longest_cut, kept_at_each_end = 1100, 512  -- what was cut is short enough never to be cut again
  local function cut(row)
    local at, said, behind = match(row, '^%d+ %d+ %d+ %d+ ()'), nil, nil
    for _ = 1, 2 do  -- its server and its cause
      if at then _, at = values.text_at(row, at) end
    end
    if at then said, behind = values.text_at(row, at) end
    if not said or #said <= longest_cut then return row end
    local function is_inside(i)  -- of a character
      local b = byte(said, i)
      return b >= 128 and b < 192
    end
    local last, first = kept_at_each_end, #said - kept_at_each_end + 1
    while last > 0 and is_inside(last + 1) do last = last - 1 end
    while first < #said and is_inside(first) do first = first + 1 end
    return sub(row, 1, at - 1) .. values.text(sub(said, 1, last) .. ' ... (' .. first - last - 1 ..
                                                     ' bytes were cut) ... ' .. sub(said, first)) .. sub(row, behind)
  end
  local rows, size, at = {}, #p.ended_runs, 1
  while at and at <= #p.ended_runs do rows[#rows + 1], at = values.text_at(p.ended_runs, at) end
  for i, row in ipairs(rows) do
    if size <= constants.max_history_bytes then break end
    rows[i] = cut(row)
    size = size - #values.text(row) + #values.text(rows[i])
  end
  while #rows > 1 and size > constants.max_history_bytes do size = size - #values.text(table.remove(rows, 1)) end
  for i, row in ipairs(rows) do rows[i] = values.text(row) end
  p.ended_runs, p.n = table.concat(rows), #rows
end

-- Texts in a row, as "length:bytes", with another one in the place of the first.
function values.with_first(first, texts)
  local _, behind = values.text_at(texts, 1)
  return values.text(first) .. sub(texts, behind)
end
-- Of a run that was asked to end, and did not succeed: the reason of its job (storage/messages.hpp).
function values.reason_of_cancelled(p) return (string.gsub(p.reason, '^cancellation asked for', 'cancelled')) end

-- A lock, or nothing when it cannot be read.
function values.read_lock(value)
  local fence, lease, at = match(value or '', '^(%d+) (%d+) ()')
  local token, behind = nil, nil
  if fence then token, behind = values.text_at(value, at) end
  return token and {fence = fence, lease = lease, token = token, holder = sub(value, behind)}
end

-- A value that is stored by names, as core/describe.hpp has them: nothing when it has not those of `types`, each of its
-- type. A number is whole, and one that may be drawn, or an instant.
function values.unpacked(bytes, types)
  local its = unpack_value(bytes)
  if type(its) ~= 'table' then return nil end
  for name, its_type in pairs(types) do
    local value = its[name]
    if type(value) ~= its_type then return nil end
    if its_type == 'number' and not (value % 1 == 0 and value >= 0 and value <= base.longest) then return nil end
  end
  return its
end

-- What a person did, as an operator_action, with the `number` that is its score.
local types_of_action = {number = 'number', at = 'number', ['until'] = 'number', count = 'number', by = 'table',
                         what = 'string', about = 'table'}
function values.read_action(bytes)
  return values.unpacked(bytes, types_of_action)
end
-- What a server says of itself, as a server_info.
function values.read_server(row)
  local beat, first, at = match(row, '^(%d+) (%d+) ()')
  local its = at and values.unpacked(sub(row, at), {name = 'string'})
  if its then its.heartbeat_at, its.started_at = beat, first end
  return its
end
