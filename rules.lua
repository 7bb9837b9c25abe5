local constants = {layout = 4, clock_slack = 1000000, days_of_hours = 90, default_queue = 'default', history_limit = 20, hours_of_minutes = 72, joined_within = 60000000, max_about = 20, max_actions = 1000, max_answer_bytes = 4194304, max_counted = 10000, max_failed_wakeups = 3, max_history_bytes = 49152, max_parked = 250, max_total_bytes = 67108864, recheck_interval = 1000000, runs_remembered = 20, served_for = 30000000, suspect_after_losses = 2, turn_time = 5000}
local base = {}
local keys = {}
local rights = {}
local lists = {}
local values = {}
local numbers = {}
local places = {}
local hints = {}
local paging = {}
local totals = {}
local admissions = {}
local waiting = {}
local chaining = {}
local flow = {}
local early_ends = {}
local clocks = {}
local unique_keys = {}
local groups = {}
local continuations = {}
local flow_jobs = {}
local cancelling = {}
local endings = {}
local new_jobs = {}
local claiming = {}
local gone_servers = {}
local limiter_records = {}
local throttler_views = {}
local schedule_views = {}
local mending = {}
local auditing = {}
local repairing = {}
local library = {}
local fresh, calls = {}, {}
-- prelude.lua



local function fetch()
  return redis.call, redis.pcall, redis.acl_check_cmd, string, string.match, string.sub, string.byte, string.format,
         table, math, tonumber, ipairs, pairs, next, unpack, type, setmetatable, error
end
local call, pcall, may_run, string, match, sub, byte, format, table, math, tonumber
local ipairs, pairs, next, unpack, type, setmetatable, error
do  -- base.lua





base.longest = 4503599627370496  -- 2^52 microseconds

base.layout = constants.layout .. ''


local fields = {__index = function(step, name)
  local value = fresh[name]
  if type(value) == 'function' then value = value(step) end
  if value == nil then error('a step knows no ' .. name) end
  step[name] = value
  return value
end}

local keys_of_prefix = {}
local function keys_of(prefix)
  local known = keys_of_prefix[prefix]
  if known then return known end
  known = {}
  for name, behind in pairs(keys.names) do known[name] = prefix .. behind end
  keys_of_prefix[prefix] = known
  return known
end


function base.int_text(n) return format('%d', n) end


function base.fetch_prelude()
  if call then return end
  call, pcall, may_run, string, match, sub, byte, format, table, math, tonumber, ipairs, pairs, next, unpack, type,
    setmetatable, error = fetch()
end




function base.begin(KEYS, ARGV)
  local its_keys, now = keys_of(KEYS[1]), tonumber(ARGV[1])
  if not now then
    local t = call('TIME')
    now = t[1] * 1000000 + t[2]
  end
  local stored = call('MGET', its_keys.schema, its_keys.number_key, its_keys.flow_mark)
  return setmetatable({args = ARGV, prefix = KEYS[1], keys = its_keys, now = now, now_text = base.int_text(now),
                       stored = stored, has_flow = stored[3], is_drawn = false,
                       last_number = stored[2] and numbers.read_last(stored[2]) or nil, woken = 0, hint_size = 0,
                       hint_words = ''}, fields)
end


function base.refusal_of_layout(step)
  local found = step.stored[1]
  if found and found ~= base.layout then return {err = 'LAYOUT ' .. found .. ' ' .. base.layout} end
end


function base.say_layout(step)
  if not step.stored[1] then call('SET', step.keys.schema, base.layout) end
end



function fresh.is_sorted() return {} end
function base.sorted(step, key)
  if not step.is_sorted[key] then
    call('ZCARD', key)
    step.is_sorted[key] = true
  end
  return key
end
end
do  -- keys.lua


keys.names = {
  schema = ':schema',                 -- the layout of what is stored
  number_key = ':number',             -- the last fence or place that was drawn
  flow_mark = ':flow_mark',           -- there when jobs wait for others, so that those that do not pay nothing
  jobs = ':jobs',                   -- hash: id -> record, as the enqueuer sent it (core/codec)
  history = ':history',             -- hash: id -> what has happened to the job so far, once something has
  runs = ':runs',                   -- hash: id -> the run that runs now
  quarantine = ':quarantine',       -- hash: id -> bytes that could not be read
  queues = ':queues',               -- set: every queue that was used within a week
  paused = ':paused',               -- set: queues that start nothing
  claims = ':claims',               -- hash: "slot ", queue as "length:bytes", server -> the last op that got some
  servers = ':servers',             -- hash: id -> what a server said of itself, last beat first
  due = ':due',                     -- sorted set: queue -> the earliest instant in its scheduled line
  ending = ':ending',               -- sorted set: queue -> no later than the first end of its leases

  admission = ':admission',         -- hash: id -> what a job has of throttlers, and where it waits for one
  limits = ':limits',               -- hash: resource -> its permits, where a definition says so
  definitions = ':definitions',     -- hash: resource -> its definition
  configs = ':configs',             -- hash: resource -> the text of the configuration that was applied last
  limiters = ':limiters',           -- hash: limiter -> "version length:state"
  claim_permits = ':claim_permits', -- hash: resource or chain -> how many runs took it with their claim
  turns = ':turns',                 -- hash: queue, as "length:bytes", and resource -> whose turn it is (chaining.lua)
  busy = ':busy',                   -- sorted set: resources with holders, by name
  waiting = ':waiting',             -- sorted set: resources with waiters, by name
  reserved = ':reserved',           -- sorted set: resource, as "length:bytes", and id -> since when it is reserved
  next_checks = ':next_checks',     -- sorted set: a line's resource -> the instant at which to look at it again
  served = ':served',               -- sorted set: queue -> the instant until which it counts as served

  flow = ':flow',                   -- hash: id -> what a job has to do with others
  held_keys = ':keys',              -- hash: unique key -> who has it (unique_keys.lua)
  group_counts = ':groups',         -- hash: group -> how many of its members have ended (groups.lua)
  agenda = ':agenda',               -- sorted set: what a step left undone -> the instant from which on it is to be done

  locks = ':locks',                 -- hash: resource -> "fence lease ", the token as "length:bytes", and the holder
  lock_ends = ':lock_ends',         -- sorted set: resource -> the instant at which its lease is over

  schedules = ':schedules',         -- hash: name -> a schedule
  schedule_names = ':schedule_names',-- sorted set: schedules, by name
  firing = ':firing',               -- sorted set: name -> the instant at which the schedule is due next
  even_places = ':places',          -- hash: name -> the part of its minute that an evenly staggered one keeps

  totals = ':totals',               -- hash: queue -> the minute of its last change, and its totals since ever
  totals_before = ':totals_before', -- hash: queue -> what they were when that minute began, and its hour
  total_sizes = ':total_sizes',     -- hash: a list of minutes or hours -> about how many bytes it has
  kept_bytes = ':kept_bytes',       -- hash: KIND:QUEUE of ended or unreadable jobs -> what these weigh
  operator_log = ':operator_log',   -- sorted set: what people did (values.lua) -> its number, which grows
  channel = ':work',                -- told who may have work: who asked, and a hint as `finish` has it
}



function keys.holders(step, resource) return step.prefix .. ':holders:' .. resource end

function keys.wait_line(step, queue, resource) return step.prefix .. ':wait:' .. queue .. '/' .. resource end
function keys.waits(step, resource) return step.prefix .. ':waits:' .. resource end

function keys.after(step, parent) return step.prefix .. ':after:' .. parent end
function keys.members(step, group) return step.prefix .. ':members:' .. group end

function keys.total_list(step, kind, slot) return step.prefix .. ':' .. kind .. ':' .. base.int_text(slot) end
end
do  -- rights.lua




local commands = {'DEL', 'EXISTS', 'GET', 'HDEL', 'HEXISTS', 'HGET', 'HGETALL', 'HKEYS', 'HLEN', 'HMGET', 'HSCAN',
                  'HSET', 'HSETNX', 'HSTRLEN', 'HVALS', 'MGET', 'SADD', 'SCAN', 'SCARD', 'SET', 'SISMEMBER',
                  'SMEMBERS', 'SREM', 'SSCAN', 'TIME', 'UNLINK', 'ZADD', 'ZCARD', 'ZCOUNT', 'ZRANGE', 'ZREM',
                  'ZSCAN', 'ZSCORE'}
local without_key = {SCAN = true, TIME = true}


function rights.refusal(prefix)
  local missing = {}
  for _, command in ipairs(commands) do
    local may = may_run == nil or without_key[command] and may_run(command, '0') or
                may_run(command, prefix .. keys.names.schema, '0', '0')
    if not may then missing[#missing + 1] = command end
  end
  if #missing > 0 then return {err = 'RIGHTS ' .. table.concat(missing, ' ')} end
end
end
do  -- lists.lua



function lists.grouped() return {order = {}, of = {}, size = {}} end
local function into(group, key)
  local list = group.of[key]
  if not list then
    list = {}
    group.of[key], group.size[key] = list, 0
    group.order[#group.order + 1] = key
  end
  return list
end
function lists.add_one(group, key, value)
  local list = group.of[key] or into(group, key)
  local size = group.size[key] + 1
  list[size], group.size[key] = value, size
end
function lists.add_two(group, key, first, second)
  local list = group.of[key] or into(group, key)
  local size = group.size[key]
  list[size + 1], list[size + 2], group.size[key] = first, second, size + 2
end
local max_at_once = 4000  -- arguments of one call; Lua's stack ends at 8000
function lists.each_list(group, command)
  for _, key in ipairs(group.order) do
    local list = group.of[key]
    for from = 1, #list, max_at_once do
      call(command, key, unpack(list, from, math.min(from + max_at_once - 1, #list)))
    end
  end
end
function lists.many(command, key, list)
  if #list == 0 then return {} end
  if #list <= max_at_once then return call(command, key, unpack(list)) end
  local all = {}
  for from = 1, #list, max_at_once do
    local part = call(command, key, unpack(list, from, math.min(from + max_at_once - 1, #list)))
    if type(part) == 'table' then for _, one in ipairs(part) do all[#all + 1] = one end end
  end
  return all
end




function lists.put(key, fields)
  local several = #fields > 32
  if several then call('HSET', key, '', ('-'):rep(65), fields[1], fields[2]) end
  lists.many('HSET', key, fields)
  if several then call('HDEL', key, '') end
end


function lists.by_bytes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
end
do  -- values.lua

local int_text = base.int_text


function values.text_at(s, at)
  local length, from = match(s, '^(%d+):()', at)
  if not length then return nil end
  local to = from + length
  if to - 1 > #s then return nil end
  return sub(s, from, to - 1), to
end

local small = {}
for n = 0, 1000 do small[n] = n .. '' end
function values.digits(n) return small[n] or format('%d', n) end
function values.text(s) return (small[#s] or format('%d', #s)) .. ':' .. s end



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

function values.queue_at(record)
  local _, at = name_at(record, 2)
  if not at then return nil end
  if byte(record, 1) % 2 == 0 then return constants.default_queue, at end
  return name_at(record, at)
end
function values.queue_of(record) return (values.queue_at(record)) end

function values.names_of(record)
  local kind, at = name_at(record, 2)
  if not kind or byte(record, 1) % 2 == 0 then return kind, constants.default_queue end
  return kind, (name_at(record, at))
end




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
function values.write_history(p)
  return p.attempt .. ' ' .. p.losses .. ' ' .. p.settled .. ' ' .. p.failures .. ' ' .. p.n .. ' ' ..
         values.text(p.reason) .. values.text(p.result) .. values.text(p.reported) .. p.ended_runs
end


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

  local longest_cut, kept_at_each_end = 1100, 512  -- what was cut is short enough never to be cut again
  local function cut(row)
    local at, error, behind = match(row, '^%d+ %d+ %d+ %d+ ()'), nil, nil
    for _ = 1, 2 do  -- its server and its cause
      if at then _, at = values.text_at(row, at) end
    end
    if at then error, behind = values.text_at(row, at) end
    if not error or #error <= longest_cut then return row end
    local function is_inside(i)  -- of a character
      local b = byte(error, i)
      return b >= 128 and b < 192
    end
    local last, first = kept_at_each_end, #error - kept_at_each_end + 1
    while last > 0 and is_inside(last + 1) do last = last - 1 end
    while first < #error and is_inside(first) do first = first + 1 end
    return sub(row, 1, at - 1) .. values.text(sub(error, 1, last) .. ' ... (' .. first - last - 1 ..
                                                     ' bytes were cut) ... ' .. sub(error, first)) .. sub(row, behind)
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


function values.with_first(first, texts)
  local _, behind = values.text_at(texts, 1)
  return values.text(first) .. sub(texts, behind)
end

function values.reason_of_cancelled(p) return (string.gsub(p.reason, '^cancellation asked for', 'cancelled')) end


function values.read_lock(value)
  local fence, lease, at = match(value or '', '^(%d+) (%d+) ()')
  local token, behind = nil, nil
  if fence then token, behind = values.text_at(value, at) end
  return token and {fence = fence, lease = lease, token = token, holder = sub(value, behind)}
end



function values.read_action(value)
  local number, at, until_, count, place = match(value, '^(%d+) (%d+) (%d+) (%d+) ()')
  if not number then return nil end
  local a = {number = tonumber(number), at = tonumber(at), until_ = tonumber(until_), count = tonumber(count),
             named = {}}
  if math.max(a.number, a.at, a.until_, a.count) > base.longest then return nil end
  a.name, place = values.text_at(value, place)
  if place then a.through, place = values.text_at(value, place) end
  if place then a.what, place = values.text_at(value, place) end
  while place and place <= #value do a.named[#a.named + 1], place = values.text_at(value, place) end
  return place and a
end
function values.write_action(a)
  local parts = {int_text(a.number) .. ' ' .. int_text(a.at) .. ' ' .. int_text(a.until_) .. ' ' .. int_text(a.count) ..
                 ' ' .. values.text(a.name) .. values.text(a.through) .. values.text(a.what)}
  for _, one in ipairs(a.named) do parts[#parts + 1] = values.text(one) end
  return table.concat(parts)
end
end
do  -- numbers.lua



function numbers.read_last(said) return tonumber(match(said, '^%d+$')) or math.huge end

function fresh.last_number(step) return numbers.read_last(call('GET', step.keys.number_key) or '0') end

function fresh.can_draw(step) return math.max(step.last_number, step.now) < 2 ^ 52 end

function numbers.may_draw(step)
  if not step.can_draw then error('no number can be drawn, by what stands in :number or by the clock') end
end
fresh.is_drawn = false

function numbers.draw(step, n)
  if not step.can_draw then numbers.may_draw(step) end
  local first = step.last_number + 1
  if first < step.now then first = step.now end
  step.last_number = first + n - 1
  step.is_drawn = true
  return first
end

function numbers.keep_number(step)
  if step.is_drawn then call('SET', step.keys.number_key, base.int_text(step.last_number)) end
  step.is_drawn = false
end
end
do  -- places.lua





function places.line(step, kind, queue) return step.prefix .. ':' .. kind .. ':' .. queue end

function places.type_line(step, queue, type) return step.prefix .. ':type:' .. queue .. '/' .. type end
function places.types_of(step, queue) return step.prefix .. ':types:' .. queue end
places.final_kinds = {'failed', 'succeeded', 'deleted'}

function places.is_suspect(losses) return losses >= constants.suspect_after_losses end

function places.tail(step, queue, losses)
  return places.line(step, places.is_suspect(losses) and 'suspect' or 'ready', queue)
end


function places.mark_served(step, queue)
  local until_ = tonumber(call('ZSCORE', step.keys.served, queue) or '0')
  if until_ < step.now + constants.served_for / 2 or until_ > step.now + constants.served_for then
    call('ZADD', step.keys.served, base.int_text(step.now + constants.served_for), queue)
  end
end


function places.refresh_due(step, queue)
  local first = call('ZRANGE', places.line(step, 'scheduled', queue), 0, 0, 'WITHSCORES')
  if first[2] then call('ZADD', step.keys.due, first[2], queue) else call('ZREM', step.keys.due, queue) end
end


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


places.line_kinds = {'processing', 'ready', 'front', 'suspect', 'scheduled', 'throttled', 'awaiting', 'failed',
                     'succeeded', 'deleted'}

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

function places.is_enqueued(kind)
  return kind == 'ready' or kind == 'front' or kind == 'suspect' or sub(kind, 1, 5) == 'type:'
end

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


function places.is_half_stored(step, id, record)
  if not values.queue_of(record) or places.place_at_home(step, id, record) then return false end
  for _, key in ipairs({step.keys.runs, step.keys.history, step.keys.flow}) do
    if call('HEXISTS', key, id) == 1 then return false end
  end
  return true
end


function places.place_of(step, id, record)
  local found = places.place_at_home(step, id, record)
  if found then return found end
  for _, queue in ipairs(call('SMEMBERS', step.keys.queues)) do
    local found = place_in(id, queue, places.lines_of(step, queue))
    if found then return found end
  end
end
end
do  -- hints.lua



fresh.woken = 0
function fresh.woken_in() return {} end
function fresh.woken_now() return {} end  -- by id: this step has woken it



function fresh.hinted() return {} end
fresh.hint_size = 0
local max_named = 8  -- in one hint
fresh.hint_words = ''  -- words with spaces between
function hints.has_work(step, whom)
  if step.hinted[whom] then return end
  step.hinted[whom], step.hint_size = true, step.hint_size + 1
  if step.hint_size <= max_named then
    step.hint_words = step.hint_size == 1 and whom or step.hint_words .. ' ' .. whom
  end
end



function hints.finish(step)
  numbers.keep_number(step)
  if step.woken > 0 then
    for queue, n in pairs(step.woken_in) do
      if n > 0 then hints.has_work(step, queue) end
    end
    hints.has_work(step, '@')  -- what is reserved for them lapses
  end
  if step.hint_size == 0 then return '' end
  local of_many = step.hinted['!'] and '@ * !' or '@ *'
  local hint = step.hint_size > max_named and of_many or step.hint_words

  pcall('PUBLISH', step.keys.channel, step.args[2] .. ' ' .. hint)
  return hint
end
end
do  -- paging.lua


function paging.exact(score) return format('%.17g', score) end

local function goes_first(a, b)
  if a.newest_first then a, b = b, a end
  return a.score < b.score or (a.score == b.score and lists.by_bytes(a.id, b.id))
end



local function advance(p)
  repeat
    p.at = p.at + 2
    if p.at > #p.part then
      if p.ended then p.id = nil return end
      if p.newest_first then
        p.part = call('ZRANGE', p.key, p.to, p.from, 'BYSCORE', 'REV', 'LIMIT', p.offset, p.some, 'WITHSCORES')
      else
        p.part = call('ZRANGE', p.key, p.from, p.to, 'BYSCORE', 'LIMIT', p.offset, p.some, 'WITHSCORES')
      end
      p.at, p.offset, p.ended = 1, p.offset + p.some, #p.part < 2 * p.some
      p.some = math.min(2 * p.some, p.most)
      if #p.part == 0 then p.id = nil return end
    end
    p.id, p.place = p.part[p.at], p.part[p.at + 1]
    p.score = tonumber(p.place)
    local first, second = p.after_id, p.id
    if p.newest_first then first, second = second, first end
  until p.after_score ~= p.score or lists.by_bytes(first, second)
end



function paging.page(key, newest_first, from, to, after_score, after_id, most, sets)
  if after_score and newest_first then to = paging.exact(after_score)
  elseif after_score then from = paging.exact(after_score) end
  local p = {key = key, newest_first = newest_first, from = from, to = to, after_score = after_score,
             after_id = after_id, most = most, some = math.min(math.max(8, math.ceil(most / sets)), most),
             offset = 0, part = {}, at = 0}
  advance(p)
  return p
end


local function sink(pages, i)
  while true do
    local first = i
    for below = 2 * i, math.min(2 * i + 1, #pages) do
      if goes_first(pages[below], pages[first]) then first = below end
    end
    if first == i then return end
    pages[i], pages[first] = pages[first], pages[i]
    i = first
  end
end
function paging.merged(pages)
  local full = {}
  for _, p in ipairs(pages) do
    if p.id then full[#full + 1] = p end
  end
  for i = math.floor(#full / 2), 1, -1 do sink(full, i) end
  return full
end
function paging.go_on(pages)
  advance(pages[1])
  if not pages[1].id then
    pages[1] = pages[#pages]
    pages[#pages] = nil
  end
  sink(pages, 1)
end
end
do  -- totals.lua

local int_text, longest = base.int_text, base.longest
local many = lists.many

function fresh.job_counts() return {} end  -- by queue: how many of each this step brings about, by name
function totals.count_jobs(step, queue, what, n)
  local its = step.job_counts[queue]
  if not its then
    its = {}
    step.job_counts[queue] = its
  end
  its[what] = (its[what] or 0) + n
end


function totals.read_totals(value, from)
  local a, b, c, d, e, f, behind = match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)()', from)
  if a and math.max(a, b, c, d, e, f) <= longest then return {a + 0, b + 0, c + 0, d + 0, e + 0, f + 0}, behind end
end
function totals.write_totals(t) return format('%d %d %d %d %d %d', unpack(t)) end

function totals.read_last(value)
  local minute, at = match(value, '^(%d+) ()')
  minute = tonumber(minute)
  if minute and minute < longest / 60000000 then return minute, totals.read_totals(value, at) end
end



local no_totals = {0, 0, 0, 0, 0, 0}  -- never written to
local largest_rows = 8192  -- sixty rows of a busy queue are a third of it
local function growth(t, before)
  local grown = {}
  for i = 1, 6 do grown[i] = math.max(0, t[i] - before[i]) end
  return grown
end

local function list_with(step, m, kind, slot, name)
  local its = kind .. ':' .. int_text(slot)
  local found = m.changing[its] or {key = step.prefix .. ':' .. its, rows = {}, grown = 0}
  m.changing[its] = found
  if not found.rows[name] then
    local rows = call('HGET', found.key, name)
    found.rows[name] = rows or ''
    if not rows then found.grown = found.grown + #name + 100 end  -- what a store needs for a field
  end
  return found
end
local function add_row(step, m, kind, slot, name, place, grown)
  local into = list_with(step, m, kind, slot, name)
  local rows = into.rows[name]
  if #rows > largest_rows then return end
  local head = ',' .. int_text(place) .. ' '
  local from = string.find(rows, head, 1, true)
  local its, behind = totals.read_totals(rows, (from or #rows) + #head)
  local sum = {}
  for i = 1, 6 do sum[i] = grown[i] + (its and its[i] or 0) end
  local row = head .. totals.write_totals(sum)
  into.rows[name] = its and sub(rows, 1, from - 1) .. row .. sub(rows, behind) or rows .. row
  into.grown = into.grown + #into.rows[name] - #rows
end

local function end_minute(step, m, o, now_minute)
  local value, hour = call('HGET', step.keys.totals_before, o.name), math.floor(o.minute / 60)

  local otherwise = value and o.totals or no_totals
  local of_minute, at = totals.read_totals(value or '', 1)
  local of_hour = at and totals.read_totals(value, at + 1) or otherwise
  local grown = growth(o.totals, of_minute or otherwise)
  add_row(step, m, 'minutes', hour, o.name, o.minute % 60, grown)
  add_row(step, m, 'minutes', hour, '', o.minute % 60, grown)
  if hour ~= math.floor(now_minute / 60) then
    grown, of_hour = growth(o.totals, of_hour), o.totals
    add_row(step, m, 'hours', math.floor(hour / 24), o.name, hour % 24, grown)
    add_row(step, m, 'hours', math.floor(hour / 24), '', hour % 24, grown)
  end
  m.before[#m.before + 1], m.before[#m.before + 2] = o.name, totals.write_totals(o.totals) .. ' ' ..
    totals.write_totals(of_hour)
end

local function sizes_of_lists(step, m)
  local sizes, known = {}, call('HGETALL', step.keys.total_sizes)
  for i = 1, #known, 2 do sizes[known[i]] = math.max(0, math.min(tonumber(known[i + 1]) or 0, longest)) end
  for its, changed in pairs(m.changing) do sizes[its] = (sizes[its] or 0) + changed.grown end
  return sizes
end


local function lists_in_order(step, sizes, now_minute)
  local all, sum = {}, 0
  for its, size in pairs(sizes) do
    local kind, slot = match(its, '^(%l+):(%d+)$')
    local ends = ((tonumber(slot) or 0) + 1) * (kind == 'hours' and 24 or 1)
    local kept = kind == 'hours' and constants.days_of_hours * 24 or constants.hours_of_minutes
    local goes = ends <= now_minute / 60 - kept or size > constants.max_total_bytes
    all[#all + 1] = {its = its, size = size, ends = ends, goes = goes,
                     key = (kind == 'minutes' or kind == 'hours') and step.prefix .. ':' .. its}
    sum = sum + (goes and 0 or size)
  end
  table.sort(all, function(a, b) return a.ends < b.ends or a.ends == b.ends and lists.by_bytes(a.its, b.its) end)
  return all, sum
end
local function write_lists(step, m, all, sum)
  for _, a in ipairs(all) do
    local changed = m.changing[a.its]
    if a.goes or sum > constants.max_total_bytes then
      if not a.goes then sum = sum - a.size end
      if a.key then call('UNLINK', a.key) end
      call('HDEL', step.keys.total_sizes, a.its)
    elseif changed then
      local fields = {}
      for name, rows in pairs(changed.rows) do fields[#fields + 1], fields[#fields + 2] = name, rows end
      call('HSET', step.keys.total_sizes, a.its, int_text(a.size))
      many('HSET', a.key, fields)
    end
  end
end




function totals.end_minutes(step, over, now_minute)
  local m = {changing = {}, before = {}}
  for _, o in ipairs(over) do end_minute(step, m, o, now_minute) end
  local all, sum = lists_in_order(step, sizes_of_lists(step, m), now_minute)

  many('HSET', step.keys.totals_before, m.before)
  write_lists(step, m, all, sum)
end


function totals.with_more_enqueued(step, value, n)
  local minute, before, others = match(value, '^(%d+) (%d+)( %d+ %d+ %d+ %d+ %d+)$')
  if minute and minute + 0 == math.floor(step.now / 60000000) and before + 0 <= longest then
    return minute .. ' ' .. int_text(before + n) .. others
  end
end



function totals.keep_totals(step, counted)
  local now_minute, over, anew, changed = math.floor(step.now / 60000000), nil, {}, {}
  for queue, its in pairs(counted) do
    local a, b, c, d, e, f = its.enqueued, its.succeeded, its.failed, its.deleted, its.retry, its.lost
    if a or b or c or d or e or f then  -- other ends are not counted
      local value = call('HGET', step.keys.totals, queue)
      local minute, t = totals.read_last(value or '')
      if not t then
        minute, t = now_minute, {0, 0, 0, 0, 0, 0}
        if value then anew[#anew + 1], anew[#anew + 2] = queue, '0 0 0 0 0 0 0 0 0 0 0 0' end
      elseif now_minute > minute or now_minute < minute - 60 then  -- what comes late counts as the last minute's
        over = over or {}
        over[#over + 1] = {name = queue, minute = minute, totals = t}
        minute = now_minute
      end
      changed[#changed + 1], changed[#changed + 2] =
        queue, format('%d %d %d %d %d %d %d', minute, t[1] + (a or 0), t[2] + (b or 0), t[3] + (c or 0),
                      t[4] + (d or 0), t[5] + (e or 0), t[6] + (f or 0))
    end
  end
  if over then totals.end_minutes(step, over, now_minute) end
  many('HSET', step.keys.totals_before, anew)
  many('HSET', step.keys.totals, changed)
  for queue in pairs(counted) do counted[queue] = nil end  -- a step may count again
end
end
do  -- admissions.lua








local int_text = base.int_text
local holders = keys.holders
local text, text_at = values.text, values.text_at




function fresh.admissions_read() return {} end  -- by text, since most of a batch are; so nobody changes what was read
admissions.no_admission = {arrival = 0, failed_wakeups = 0, fence = '0', at = '', held = {}, slots = {}}
function admissions.read_admission(step, value)
  if step.admissions_read[value] then return step.admissions_read[value] end
  local arrival, failed_wakeups, fence, n, m, place = match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) ()')
  if not arrival then return nil end
  local a = {arrival = tonumber(arrival), failed_wakeups = tonumber(failed_wakeups), fence = fence, held = {},
             slots = {}}
  a.at, place = text_at(value, place)
  for i = 1, tonumber(n) do
    if not place then return nil end
    a.held[i], place = text_at(value, place)
  end
  for i = 1, tonumber(m) do
    local until_, from = match(value, '^(%d+) ()', place or #value + 1)
    if not until_ then return nil end
    a.slots[i] = {until_ = tonumber(until_)}
    a.slots[i].resource, place = text_at(value, from)
  end
  if not place then return nil end
  step.admissions_read[value] = a
  return a
end
function admissions.write_admission(a)
  local parts = {int_text(a.arrival) .. ' ' .. a.failed_wakeups .. ' ' .. a.fence .. ' ' ..
                 #a.held .. ' ' .. #a.slots .. ' ' .. text(a.at)}
  for _, resource in ipairs(a.held) do parts[#parts + 1] = text(resource) end
  for _, slot in ipairs(a.slots) do parts[#parts + 1] = int_text(slot.until_) .. ' ' .. text(slot.resource) end
  return table.concat(parts)
end
function admissions.admission_with(held)
  return admissions.write_admission({arrival = 0, failed_wakeups = 0, fence = '0', at = '', held = held, slots = {}})
end
function admissions.copy_of(a)
  local b = {arrival = a.arrival, failed_wakeups = a.failed_wakeups, fence = a.fence, at = a.at, held = {}, slots = {}}
  for i, resource in ipairs(a.held) do b.held[i] = resource end
  for i, slot in ipairs(a.slots) do b.slots[i] = slot end
  return b
end


function admissions.recovered_admission(step, id)
  local a = admissions.copy_of(admissions.no_admission)
  for _, resource in ipairs(call('ZRANGE', step.keys.busy, 0, -1)) do
    if call('HEXISTS', holders(step, resource), id) == 1 then a.held[#a.held + 1] = resource end
  end
  for _, resource in ipairs(call('ZRANGE', step.keys.waiting, 0, -1)) do
    for _, queue in ipairs(call('SMEMBERS', keys.waits(step, resource))) do
      local arrival = call('ZSCORE', keys.wait_line(step, queue, resource), id)
      if arrival then a.at, a.arrival = resource, tonumber(arrival) end
    end
  end
  return a
end

fresh.are_checked = false

function admissions.check_throttlers(step)
  if step.are_checked then return end
  step.are_checked = true
  for _, key in ipairs({step.keys.admission, step.keys.claim_permits, step.keys.limits, step.keys.definitions,
                        step.keys.configs, step.keys.limiters}) do
    call('HLEN', key)
  end
  for _, key in ipairs({step.keys.busy, step.keys.waiting, step.keys.reserved, step.keys.next_checks,
                        step.keys.served}) do
    base.sorted(step, key)
  end
end


function admissions.admissions_of(step, ids)
  local found = {}
  if #ids == 0 or call('HLEN', step.keys.admission) == 0 then return found end
  admissions.check_throttlers(step)
  for i, value in ipairs(lists.many('HMGET', step.keys.admission, ids)) do
    if value then
      found[ids[i]] = admissions.read_admission(step, value) or admissions.recovered_admission(step, ids[i])
    end
  end
  return found
end
function admissions.admission_of(step, id) return admissions.admissions_of(step, {id})[id] end

function admissions.has_permit(a, resource)
  for _, held in ipairs(a.held) do
    if held == resource then return true end
  end
  return false
end



function fresh.rows_read() return {} end
function admissions.permits_in(step, permits)
  local held = step.rows_read[permits]
  if held then return held end
  held = {}
  local place = 1
  while place and place <= #permits do held[#held + 1], place = text_at(permits, place) end
  step.rows_read[permits] = held
  return held
end


function admissions.limit_of(step, resource)
  local said = call('HGET', step.keys.limits, resource)
  if said then return tonumber(match(said, '^%d+$') or '0') end
  return sub(resource, 1, 6) == 'mutex:' and 1 or nil
end

function admissions.entry_of(step, resource, id)
  local kind, _, since = match(call('HGET', holders(step, resource), id) or '', '^(%a+) (%d+) (%d+)$')
  return kind or 'held', since or step.now_text
end

function admissions.hands_out_permits(resource)
  return sub(resource, 1, 6) == 'mutex:' or sub(resource, 1, 10) == 'semaphore:'
end

function admissions.limiter_of(resource) return match(resource, '^[^/]*') end
function admissions.reservation(resource, id) return text(resource) .. id end

function admissions.add_entries(step, resource, entries)
  lists.put(holders(step, resource), entries)
  call('ZADD', step.keys.busy, 0, resource)
end
local function close_unheld(step, resource)
  if call('EXISTS', holders(step, resource)) == 0 and call('HEXISTS', step.keys.claim_permits,
                                                                       resource) == 0 then
    call('ZREM', step.keys.busy, resource)
  end
end
function admissions.remove_entries(step, resource, ids)
  lists.many('HDEL', holders(step, resource), ids)
  close_unheld(step, resource)
end

function admissions.said_count(step, resource)
  local said = call('HGET', step.keys.claim_permits, resource)
  return not said and 0 or (#said < 16 and tonumber(match(said, '^%d+$'))) or nil
end


function admissions.permit_of(name) return match(name, '^chain:%d+:(.*)$') or name end

function admissions.claims_by_rows(step)
  local counts = {}
  local function count(name)
    counts[name] = (counts[name] or 0) + 1
    return counts[name]
  end
  for _, its in ipairs(places.all_runs(step)) do
    local run = values.read_run(its.row)
    for _, name in ipairs(run and admissions.permits_in(step, run.permits) or {}) do
      if count(name) == 1 and admissions.permit_of(name) ~= name then count(admissions.permit_of(name)) end
    end
  end
  return counts
end
function admissions.claims_of(step, name) return admissions.claims_by_rows(step)[name] or 0 end
function admissions.held_of(step, resource)
  return call('HLEN', holders(step, resource)) + (admissions.said_count(step, resource) or
                                                        admissions.claims_of(step, resource))
end

local function recount(step, resource)
  if admissions.said_count(step, resource) then return false end
  call('HSET', step.keys.claim_permits, resource, int_text(admissions.claims_of(step, resource)))
  return true
end
function admissions.set_claims(step, name, n)
  if n > 0 then
    call('HSET', step.keys.claim_permits, name, int_text(n))
    if admissions.permit_of(name) == name then call('ZADD', step.keys.busy, 0, name) end
  else
    call('HDEL', step.keys.claim_permits, name)
    close_unheld(step, name)
  end
end

function fresh.counted_by_rows() return {} end

function admissions.count_claimed(step, name, by)
  local said = not step.counted_by_rows[name] and admissions.said_count(step, name) or nil
  step.counted_by_rows[name] = not said
  local n = said and said + by or admissions.claims_of(step, name)
  if n > 0 and said and said > 0 then call('HSET', step.keys.claim_permits, name,
                                                 int_text(n)) else admissions.set_claims(step, name, n) end
  local resource = admissions.permit_of(name)
  if resource ~= name and n <= 0 then admissions.count_claimed(step, resource, -1)
  elseif resource ~= name and n == by then admissions.count_claimed(step, resource, 1) end
  return n <= 0
end


function admissions.spill_permits(step, id, run)
  local held = {}
  for _, name in ipairs(admissions.permits_in(step, run.permits)) do
    local resource = admissions.permit_of(name)
    recount(step, resource)  -- the row says still that it took it
    recount(step, name)
    if resource == name or admissions.said_count(step, name) == 1 then
      admissions.add_entries(step, resource, {id, 'held ' .. run.fence .. ' ' .. run.started})
      held[#held + 1] = resource
    end
    admissions.count_claimed(step, name, -1)
  end
  run.permits = ''
  return held
end


function admissions.permits_told(i, held, slots)
  local all = {}
  for _, resource in ipairs(held) do all[#all + 1] = resource end
  for _, slot in ipairs(slots) do all[#all + 1] = slot.resource end
  if #all == 0 then return '' end
  table.sort(all, lists.by_bytes)
  for n, resource in ipairs(all) do all[n] = text(resource) end
  return i .. ' ' .. #all .. ' ' .. table.concat(all)
end


function admissions.admit_claimed(step, ids, had, fence)
  local all = {}
  for i, id in ipairs(ids) do
    local a = had[id]
    if a then
      for _, resource in ipairs(a.held) do
        local kind, since = admissions.entry_of(step, resource, id)
        if kind == 'reserved' then call('ZREM', step.keys.reserved, admissions.reservation(resource, id)) end
        admissions.add_entries(step, resource, {id, (kind == 'strict' and 'strict ' or 'held ') ..
                                                int_text(fence + i - 1) .. ' ' .. since})
      end
      local good = {}
      for _, slot in ipairs(a.slots) do
        if slot.until_ > step.now then good[#good + 1] = slot end
      end
      if #good < #a.slots then
        local b = admissions.copy_of(a)
        b.slots = good
        call('HSET', step.keys.admission, id, admissions.write_admission(b))
      end
      all[#all + 1] = admissions.permits_told(i, a.held, good)
    end
  end
  return table.concat(all)
end
end
do  -- waiting.lua

local int_text, sorted = base.int_text, base.sorted
local wait_line, waits = keys.wait_line, keys.waits
local grouped, many, put = lists.grouped, lists.many, lists.put
local draw = numbers.draw
local line = places.line
local add_entries, limit_of, permit_of, write_admission = admissions.add_entries, admissions.limit_of,
  admissions.permit_of, admissions.write_admission

function fresh.passed_on() return {} end    -- resources whose permits this step has promised to woken jobs
waiting.max_woken = 1000  -- by one permit that came free, or one higher limit; those that end, and a reconcile, go on


function fresh.known_to_run() return {} end
function waiting.queue_runs(step, queue)
  if step.known_to_run[queue] == nil then
    local until_ = call('ZSCORE', step.keys.served, queue)
    step.known_to_run[queue] = until_ and tonumber(until_) > step.now and
      call('SISMEMBER', step.keys.paused, queue) == 0
  end
  return step.known_to_run[queue]
end


function waiting.has_runnable_waiter(step, resource)
  for _, queue in ipairs(call('SMEMBERS', waits(step, resource))) do
    if waiting.queue_runs(step, queue) then return true end
  end
  return false
end

function waiting.enqueue_waiter(step, id, queue, resource, arrival)
  call('ZADD', line(step, 'throttled', queue), int_text(arrival), id)
  call('ZADD', wait_line(step, queue, resource), int_text(arrival), id)
  call('SADD', waits(step, resource), queue)
  call('ZADD', step.keys.waiting, 0, resource)
end

function waiting.close_empty_line(step, resource, queue)
  if call('EXISTS', wait_line(step, queue, resource)) == 1 then return end
  call('SREM', waits(step, resource), queue)
  if call('EXISTS', waits(step, resource)) == 1 then return end
  call('ZREM', step.keys.waiting, resource)
  call('ZREM', step.keys.next_checks, resource)
end
function waiting.remove_waiter(step, resource, id)
  for _, queue in ipairs(call('SMEMBERS', waits(step, resource))) do
    if call('ZREM', wait_line(step, queue, resource), id) == 1 then
      call('ZREM', line(step, 'throttled', queue), id)
      waiting.close_empty_line(step, resource, queue)
      return
    end
  end
end


function waiting.first_waiters(step, resource, count)
  local found, lines = {}, 0
  for _, queue in ipairs(call('SMEMBERS', waits(step, resource))) do
    if waiting.queue_runs(step, queue) then
      lines = lines + 1
      local rows = call('ZRANGE', wait_line(step, queue, resource), 0, count - 1, 'WITHSCORES')
      for i = 1, #rows, 2 do found[#found + 1] = {id = rows[i], arrival = tonumber(rows[i + 1]), queue = queue} end
    end
  end
  if lines > 1 then table.sort(found, function(a, b) return a.arrival < b.arrival end) end
  for i = #found, count + 1, -1 do found[i] = nil end
  return found
end



function waiting.wake_first(step, resource, count, give)
  local found, ids = step.can_draw and waiting.first_waiters(step, resource, count) or {}, {}
  if #found == 0 then return 0 end
  for i, w in ipairs(found) do ids[i] = w.id end
  local histories, had = many('HMGET', step.keys.history, ids), admissions.admissions_of(step, ids)
  local leaving, entering, changed, from = grouped(), grouped(), {}, {}
  local place = draw(step, #found)
  for i, w in ipairs(found) do

    local losses = tonumber(match(histories[i] or '', '^%d+ (%d+) ') or '0')
    local a = admissions.copy_of(had[w.id] or admissions.no_admission)
    a.at = ''
    give(a, w.id)
    changed[2 * i - 1], changed[2 * i] = w.id, write_admission(a)
    lists.add_one(leaving, wait_line(step, w.queue, resource), w.id)
    lists.add_one(leaving, line(step, 'throttled', w.queue), w.id)
    lists.add_two(entering, sorted(step, line(step, places.is_suspect(losses) and 'suspect' or 'front', w.queue)),
                  int_text(place + i - 1), w.id)
    from[w.queue] = true
    step.woken_in[w.queue] = (step.woken_in[w.queue] or 0) + 1
    step.woken_now[w.id] = true
  end
  lists.each_list(leaving, 'ZREM')
  put(step.keys.admission, changed)
  lists.each_list(entering, 'ZADD')
  for queue in pairs(from) do waiting.close_empty_line(step, resource, queue) end
  step.woken = step.woken + #found
  return #found
end


function waiting.pass_on(step, resource)
  if not call('ZSCORE', step.keys.waiting, resource) then return 0 end
  local limit = limit_of(step, resource)
  local room = limit and math.min(limit - admissions.held_of(step, resource), waiting.max_woken) or 0
  if room <= 0 then return 0 end
  local entries, since = {}, {}
  local got = waiting.wake_first(step, resource, room, function(a, id)
    a.held[#a.held + 1] = resource
    entries[#entries + 1], entries[#entries + 2] = id, 'reserved 0 ' .. step.now_text
    since[#since + 1], since[#since + 2] = step.now_text, admissions.reservation(resource, id)
  end)
  if got > 0 then
    step.passed_on[resource] = true
    add_entries(step, resource, entries)
    many('ZADD', step.keys.reserved, since)
  end
  return got
end



fresh.reopened = 0
function waiting.reconcile_line(step, resource)
  if admissions.hands_out_permits(resource) then return waiting.pass_on(step, resource) end
  if waiting.has_runnable_waiter(step, resource) and not call('ZSCORE', step.keys.next_checks, resource) then
    call('ZADD', step.keys.next_checks, step.now_text, resource)
    step.reopened = step.reopened + 1
  end
  return 0
end




function waiting.give_back(step, ids, had, inline_permits, is_final)
  local order, entries, counts, gone, changed = {}, {}, {}, {}, {}
  local function freed(resource)
    if not entries[resource] then
      order[#order + 1] = resource
      entries[resource], counts[resource] = {}, 0
    end
  end

  local last, n = nil, 0
  local function count_last()
    for _, resource in ipairs(last and admissions.permits_in(step, last) or {}) do
      freed(resource)
      counts[resource] = counts[resource] + n
    end
  end
  for i, id in ipairs(ids) do
    if inline_permits[i] == last then
      n = n + 1
    else
      count_last()
      last, n = inline_permits[i], 1
    end
    local a = had[id]
    if a then
      count_last()
      last, n = nil, 0
    end
    if a then
      local own = {}
      for _, resource in ipairs(a.held) do
        local kind, since
        if not is_final[id] then kind, since = admissions.entry_of(step, resource, id) end
        if kind == 'strict' then
          own[#own + 1] = resource
          add_entries(step, resource, {id, 'strict 0 ' .. since})
        else
          freed(resource)
          entries[resource][#entries[resource] + 1] = id
        end
      end
      if #own == 0 then
        gone[#gone + 1] = id
      else
        changed[#changed + 1], changed[#changed + 2] = id, admissions.admission_with(own)
      end
    end
  end
  count_last()
  local is_free = {}
  for _, name in ipairs(order) do
    if #entries[name] > 0 then admissions.remove_entries(step, name, entries[name]) end
    local is_over = counts[name] > 0 and admissions.count_claimed(step, name, -counts[name])
    is_free[name] = is_over or permit_of(name) == name
  end
  many('HDEL', step.keys.admission, gone)
  put(step.keys.admission, changed)
  for _, name in ipairs(order) do
    if is_free[name] then waiting.pass_on(step, permit_of(name)) end
  end
end


function waiting.end_alike(step, alike)
  local order, counts = {}, {}
  for _, c in ipairs(alike) do
    for _, resource in ipairs(admissions.permits_in(step, c.permits)) do
      if not counts[resource] then order[#order + 1] = resource end
      counts[resource] = (counts[resource] or 0) + c.ended
    end
  end
  local is_free = {}
  for _, name in ipairs(order) do
    is_free[name] = admissions.count_claimed(step, name, -counts[name]) or permit_of(name) == name
  end
  for _, name in ipairs(order) do
    if is_free[name] then waiting.pass_on(step, permit_of(name)) end
  end
end



fresh.is_counted_anew = false
function waiting.count_anew(step)
  if step.is_counted_anew then return end
  step.is_counted_anew = true
  local counts = admissions.claims_by_rows(step)
  for _, name in ipairs(call('HKEYS', step.keys.claim_permits)) do counts[name] = counts[name] or 0 end
  for name, n in pairs(counts) do admissions.set_claims(step, name, n) end
  for name in pairs(counts) do waiting.pass_on(step, name) end
end



function waiting.forget_job(step, id, row)
  local run = row and values.read_run(row)
  local a, inline_permits = admissions.admission_of(step, id), run and run.permits ~= '' and run.permits
  if row and not run then
    a = a or admissions.recovered_admission(step, id)
    waiting.count_anew(step)
  end
  if not a and not inline_permits then return end
  if a then
    if a.at ~= '' then waiting.remove_waiter(step, a.at, id) end
    for _, resource in ipairs(a.held) do
      call('ZREM', step.keys.reserved, admissions.reservation(resource, id))
    end
  end
  waiting.give_back(step, {id}, {[id] = a}, {inline_permits}, {[id] = true})
end



function waiting.room_of(step, resource)
  admissions.check_throttlers(step)
  call('SCARD', waits(step, resource))
  local limit = limit_of(step, resource)
  return {limit = limit, held = limit and admissions.held_of(step, resource),
          waited_for = limit and call('ZSCORE', step.keys.waiting, resource) and
            #waiting.first_waiters(step, resource, 1) > 0}
end


function waiting.park_fresh(step, queue, parks)
  local written, standing, lines, first = {}, {}, grouped(), draw(step, #parks)
  for i, p in ipairs(parks) do
    local n = int_text(first + i - 1)
    written[2 * i - 1] = p.id
    written[2 * i] = write_admission({arrival = first + i - 1, failed_wakeups = 0, fence = '0', at = p.resource,
                                      held = {}, slots = {}})
    standing[2 * i - 1], standing[2 * i] = n, p.id
    lists.add_two(lines, p.resource, n, p.id)
  end
  put(step.keys.admission, written)
  many('ZADD', line(step, 'throttled', queue), standing)
  for _, resource in ipairs(lines.order) do
    many('ZADD', wait_line(step, queue, resource), lines.of[resource])
    call('SADD', waits(step, resource), queue)
    call('ZADD', step.keys.waiting, 0, resource)
  end
end





function waiting.park_run(step, id, run, a, resource, free)
  local b = admissions.copy_of(a)
  local by_host = sub(resource, 1, 7) == 'custom:'
  if b.arrival == 0 then b.arrival = draw(step, 1) elseif not by_host then b.failed_wakeups = b.failed_wakeups + 1 end
  local keeps = b.failed_wakeups >= constants.max_failed_wakeups and not by_host
  sorted(step, line(step, 'processing', run.queue))
  sorted(step, line(step, 'throttled', run.queue))
  sorted(step, wait_line(step, run.queue, resource))
  b.fence, b.at, b.held = run.fence, resource, {}
  local has_now = {unpack(a.held)}
  for _, r in ipairs(admissions.spill_permits(step, id, run)) do has_now[#has_now + 1] = r end
  table.sort(has_now, lists.by_bytes)
  local freed, is_permit = {}, limit_of(step, resource)
  for _, r in ipairs(has_now) do
    local kind, since = admissions.entry_of(step, r, id)
    if (kind == 'strict' or keeps) and (not is_permit or lists.by_bytes(r, resource)) then
      b.held[#b.held + 1] = r
      add_entries(step, r, {id, (kind == 'strict' and 'strict' or 'kept') .. ' 0 ' .. since})
    else
      freed[#freed + 1] = r
      admissions.remove_entries(step, r, {id})
    end
  end
  for _, r in ipairs(keeps and free or {}) do
    b.held[#b.held + 1] = r
    add_entries(step, r, {id, 'kept 0 ' .. step.now_text})
  end
  call('ZREM', line(step, 'processing', run.queue), id)
  call('HDEL', step.keys.runs, id)
  call('HSET', step.keys.admission, id, write_admission(b))
  waiting.enqueue_waiter(step, id, run.queue, resource, b.arrival)
  for _, r in ipairs(freed) do waiting.pass_on(step, r) end
end
end
do  -- chaining.lua



function chaining.has_reserved_alone(step, id, a, resource)
  if #a.held ~= 1 or #a.slots > 0 or a.held[1] ~= resource then return false end
  return admissions.entry_of(step, resource, id) == 'reserved'
end



function chaining.followers(step, resource, queue, skipped, most)
  local waiting_here = call('ZCARD', keys.wait_line(step, queue, resource)) - skipped
  most = math.min(most, math.ceil((waiting_here + 1) / math.max(admissions.limit_of(step, resource) or 1, 1)) - 1)
  local found, ids = waiting.first_waiters(step, resource, skipped + most), {}
  for i = skipped + 1, #found do
    if found[i].queue ~= queue then break end
    ids[#ids + 1] = found[i].id
  end
  local had = admissions.admissions_of(step, ids)
  for i, id in ipairs(ids) do
    local a = had[id]
    if not a or #a.held + #a.slots > 0 then return {unpack(ids, 1, i - 1)}, had end
  end
  return ids, had
end



function chaining.add_to_chain(step, name, ids, had, is_new)
  local resource, changed = admissions.permit_of(name), {}
  admissions.count_claimed(step, name, #ids)
  if is_new then  -- it was woken for this
    call('ZREM', step.keys.reserved, admissions.reservation(resource, ids[1]))
    admissions.remove_entries(step, resource, {ids[1]})
  end
  for _, id in ipairs(ids) do
    if had[id] then
      local a = admissions.copy_of(had[id])
      a.at, a.held = '', {}
      changed[#changed + 1], changed[#changed + 2] = id, admissions.write_admission(a)
      had[id] = nil
    end
  end
  lists.put(step.keys.admission, changed)
end


function chaining.return_to_line(step, id, queue, resource, fence, a)
  local b = admissions.copy_of(a or admissions.no_admission)
  if b.arrival == 0 then b.arrival = tonumber(fence) end
  b.fence, b.at = fence, resource
  call('HSET', step.keys.admission, id, admissions.write_admission(b))
  waiting.enqueue_waiter(step, id, queue, resource, b.arrival)
end




local function turn_field(queue, resource) return values.text(queue) .. resource end
local function turn_at(step, queue, resource)
  local until_, next_one = match(call('HGET', step.keys.turns, turn_field(queue, resource)) or '',
                                        '^(%d+) (.*)$')
  return tonumber(until_), next_one
end
function chaining.check_turns(step) call('HLEN', step.keys.turns) end

function chaining.may_grow(step, name, queue, server)
  local resource = admissions.permit_of(name)
  if (admissions.said_count(step, name) or admissions.claims_of(step, name)) <= 0 then return false end
  if admissions.held_of(step, resource) > (admissions.limit_of(step, resource) or 0) then return false end
  local _, next_one = turn_at(step, queue, resource)
  return next_one == nil or next_one == server
end

function chaining.is_left_to_another(step, queue, resource, server)
  local until_, next_one = turn_at(step, queue, resource)
  if not until_ or next_one == server then return false end
  if until_ == 0 then return step.passed_on[resource] or false end
  return until_ > step.now and until_ <= step.now + constants.turn_time
end
function chaining.leave_to_next(step, queue, resource)
  local until_, next_one = turn_at(step, queue, resource)  -- of another type it may have been taken meanwhile
  if until_ == 0 then
    call('HSET', step.keys.turns, turn_field(queue, resource), base.int_text(step.now + constants.turn_time) ..
               ' ' .. next_one)
  end
end

function chaining.took_turn(step, queue, resource, server)
  local until_, next_one = turn_at(step, queue, resource)
  if until_ and (until_ > 0 or next_one == server) then
    call('HDEL', step.keys.turns, turn_field(queue, resource))
  end
end
function chaining.wants_turn(step, queue, resource, server)
  if call('EXISTS', keys.wait_line(step, queue, resource)) == 0 then return end
  if not turn_at(step, queue, resource) then
    call('HSET', step.keys.turns, turn_field(queue, resource), '0 ' .. server)
  end
end




local function take_followers(step, c, chain, plan, by)
  local resource = plan.wants[1]
  local behind, admitted = chaining.followers(step, resource, c.queue, c.skipped[resource] or 0, by)
  if #behind == 0 then return end
  local records, histories = lists.many('HMGET', step.keys.jobs, behind), lists.many('HMGET', step.keys.history, behind)
  if step.has_flow then flow.read_flows(step, behind) end
  if not next(c.had) then c.had = {} end
  if not next(c.skipped) then c.skipped = {} end
  for i, id in ipairs(behind) do
    local record, p = records[i], values.read_history(histories[i])
    local kind, its_queue = values.names_of(record or '')
    if kind ~= plan.kind or its_queue ~= c.queue or not p or places.is_suspect(p.losses) then return end
    if step.has_flow and continuations.must_not_start(step, id, p, c.over) then return end
    if not claiming.has_space_for(c, record, histories[i]) then return end
    c.had[id] = admitted[id]
    local key = keys.wait_line(step, c.queue, resource)
    table.insert(chain.places, claiming.take(c, id, record, histories[i], p.attempt, key))
    lists.add_one(c.leaving, base.sorted(step, places.line(step, 'throttled', c.queue)), id)
    c.skipped[resource] = (c.skipped[resource] or 0) + 1
  end
end
local function add_chain(c, chain)
  if not next(c.chains) then c.chains = {} end
  table.insert(c.chains, chain)
end

function chaining.grow(step, c, plan, fence, by)
  local name = 'chain:' .. fence .. ':' .. plan.wants[1]
  if not chaining.may_grow(step, name, c.queue, c.server) then return end
  local chain = {name = name, places = {}}
  take_followers(step, c, chain, plan, by)
  if #chain.places > 0 then add_chain(c, chain) end
end

function chaining.begin_chain(step, c, plan, id, n)
  if not chaining.has_reserved_alone(step, id, c.had[id], plan.wants[1]) then return end
  local chain = {resource = plan.wants[1], places = {n}}
  take_followers(step, c, chain, plan, plan.chain_size - 1)
  if #chain.places > 1 then add_chain(c, chain) end
end
function chaining.name_chains(c, fence)
  for _, chain in ipairs(c.chains) do
    chain.is_new = not chain.name
    chain.name = chain.name or 'chain:' .. base.int_text(fence + chain.places[1] - 1) .. ':' .. chain.resource
    for _, n in ipairs(chain.places) do c.permits[n] = values.text(values.text(chain.name)) end
  end
end
function chaining.write_chains(step, c)
  for _, chain in ipairs(c.chains) do
    local ids = {}
    for i, n in ipairs(chain.places) do ids[i] = c.ids[n] end
    chaining.add_to_chain(step, chain.name, ids, c.had, chain.is_new)
  end
end
function chaining.change_turns(step, c)
  if not c.in_order[1] then return end
  local has_it = {}  -- the server, of a type at least
  for _, plan in ipairs(c.in_order) do
    if plan.turn == 'taken' then chaining.took_turn(step, c.queue, plan.wants[1], c.server)
    elseif plan.turn == 'left' then chaining.leave_to_next(step, c.queue, plan.wants[1]) end
    local has_some = plan.chain_size > 0 and not plan.wants_turn or plan.turn == 'taken' or plan.let_in > 0
    for _, resource in ipairs(has_some and plan.wants or {}) do has_it[resource] = true end
  end
  for _, plan in ipairs(c.used < c.free and c.in_order or {}) do
    if plan.wants_turn and c.known[plan.kind] and not has_it[plan.wants[1]] and plan.turn ~= 'left' then
      chaining.wants_turn(step, c.queue, plan.wants[1], c.server)
    end
  end
end
end
do  -- flow.lua
















local longest = base.longest
local grouped = lists.grouped
local text, text_at = values.text, values.text_at
function flow.read_flow(value)
  local f, at = {has_children = sub(value, 1, 1) == '1'}, 2
  local letter, behind = match(value, '^ g([sfd-])()', at)
  if letter then
    f.counted, f.group, at = letter, text_at(value, behind)
    if not f.group then return nil end
  end
  letter, behind = match(value, '^ k([esp])()', at)
  if letter then
    f.point, f.key, at = letter, text_at(value, behind)
    if not f.key then return nil end
  end
  local start_within, start_by, finish_within, finish_by, after_clock =
    match(value, '^ t(%d+) (%d+) (%d+) (%d+)()', at)
  if start_within then
    at = after_clock
    f.clock = {start_within = math.min(tonumber(start_within), longest),
               start_by = math.min(tonumber(start_by), longest),
               finish_within = math.min(tonumber(finish_within), longest),
               finish_by = math.min(tonumber(finish_by), longest)}
  end
  local need, delay, unmet, on, unless, n, of_parents = match(value, '^ (%d+) (%d+) (%d) (%l+) (%l) (%d+) ()',
                                                                     at)
  if need then
    f.need, f.delay, f.is_unmet, f.on, f.unless, f.parents =
      tonumber(need), math.min(tonumber(delay), longest), unmet == '1', on, unless, {}
    at = of_parents
    for i = 1, tonumber(n) do
      local id, next_at = text_at(value, at + 1)
      if not id then return nil end
      f.parents[i] = {id = id, state = sub(value, at, at)}
      at = next_at
    end
    f.need = math.min(math.max(f.need, 1), #f.parents)  -- more than there are would be waited for without end
  end
  return at > #value and f or nil
end

function flow.write_flow(f)
  if not (f.has_children or f.group or f.key or f.clock or f.parents) then return nil end
  local row, c, parents = f.has_children and '1' or '0', f.clock, f.parents
  if f.group then row = row .. ' g' .. f.counted .. text(f.group) end
  if f.key then row = row .. ' k' .. f.point .. text(f.key) end
  if c then row = row .. format(' t%d %d %d %d', c.start_within, c.start_by, c.finish_within, c.finish_by) end
  if not parents then return row end
  row = row .. format(' %d %d %d %s %s %d ', f.need, f.delay, f.is_unmet and 1 or 0, f.on, f.unless, #parents)
  if #parents == 1 then return row .. parents[1].state .. text(parents[1].id) end
  local parts = {row}
  for i, parent in ipairs(parents) do parts[i + 1] = parent.state .. text(parent.id) end
  return table.concat(parts)
end


function fresh.flow_rows() return {} end     -- by id, as read or changed; false: none
function fresh.flow_changed() return {} end  -- by id
function flow.flow_of(step, id)
  if step.flow_rows[id] == nil then
    local value = call('HGET', step.keys.flow, id)
    step.flow_rows[id] = value and flow.read_flow(value) or false
  end
  return step.flow_rows[id]
end

function flow.read_flows(step, ids)
  for i, value in ipairs(lists.many('HMGET', step.keys.flow, ids)) do
    if step.flow_rows[ids[i]] == nil then step.flow_rows[ids[i]] = value and flow.read_flow(value) or false end
  end
end
function flow.change_flow(step, id, f)
  step.flow_rows[id], step.flow_changed[id] = f, true
end


function fresh.flow_plan()
  return {leaving = grouped(), entering = grouped(), edges = grouped(), dropped = grouped(),
          staying = grouped(),  -- who has another place in its line; before somebody leaves
          histories = {},
          runs = {},
          due = {},        -- by queue: the earliest instant
          refresh = {},    -- queues whose scheduled line somebody leaves
          forgotten = {},  -- who leaves what it has of throttlers
          owed = {}}       -- what stands in `agenda` -> the instant from which on it is to be done, or false: no more
end
function fresh.flow_moved() return {} end  -- by id: it leaves its line by what is planned





fresh.first_of_agenda = 'unread'  -- then an instant; false: it is empty
function flow.look_at_agenda(step)
  if step.first_of_agenda == 'unread' then
    call('HLEN', step.keys.flow)
    step.first_of_agenda = tonumber(call('ZRANGE', step.keys.agenda, 0, 0, 'WITHSCORES')[2] or '') or false
  end
end
function flow.owes_at(step, member, instant)
  flow.look_at_agenda(step)
  step.flow_plan.owed[member] = instant
  if not step.first_of_agenda or instant < step.first_of_agenda then hints.has_work(step, '@') end
end

function flow.owes(step, member) flow.owes_at(step, member, 0) end
function flow.owes_no_more(step, member)
  flow.look_at_agenda(step)
  if step.first_of_agenda or step.flow_plan.owed[member] then step.flow_plan.owed[member] = false end
end
flow.ways_to_end = {'s', 'f', 'd', 'e'}


function flow.take_back_end(step, id)
  for _, letter in ipairs({'s', 'f', 'd'}) do flow.owes_no_more(step, 'edges ' .. letter .. ' ' .. id) end
end
end
do  -- early_ends.lua

local sorted = base.sorted


function early_ends.enter_final(step, id, queue, letter, reason, cause)
  local p = values.read_history(call('HGET', step.keys.history, id))
  if not p then return false end
  local kind = letter == 'f' and 'failed' or 'deleted'
  p.reason, p.result = reason, ''
  values.remember(step, p, '0', 0, step.now_text, '', values.text(cause) .. values.text(reason) .. '0')
  local histories = step.flow_plan.histories
  histories[#histories + 1], histories[#histories + 2] = id, values.write_history(p)
  lists.add_two(step.flow_plan.entering, sorted(step, places.line(step, kind, queue)), step.now_text, id)
  totals.count_jobs(step, queue, kind, 1)
  return true
end


function early_ends.waiting_at(step, id)
  local record = not step.flow_moved[id] and call('HGET', step.keys.jobs, id)
  local at = record and places.place_of(step, id, record)
  local waits = at and (places.is_enqueued(at.kind) or at.kind == 'scheduled' or at.kind == 'throttled' or
                        at.kind == 'awaiting')
  return waits and at or nil
end


function early_ends.end_waiting(step, id, letter, reason, cause, ended)
  local at = early_ends.waiting_at(step, id)
  if not at or not early_ends.enter_final(step, id, at.queue, letter, reason, cause) then return false end
  step.flow_moved[id] = true
  lists.add_one(step.flow_plan.leaving, sorted(step, at.key), id)
  if at.kind == 'scheduled' then
    sorted(step, step.keys.due)
    step.flow_plan.refresh[at.queue] = true
  elseif at.kind ~= 'awaiting' and call('HEXISTS', step.keys.admission, id) == 1 then
    admissions.check_throttlers(step)
    admissions.admission_of(step, id)
    step.flow_plan.forgotten[#step.flow_plan.forgotten + 1] = id
  end
  ended[#ended + 1] = {id, letter}
  return true
end
end
do  -- clocks.lua



local owes_no_more = flow.owes_no_more


function clocks.next_over(clock, is_begun)
  local start_by = not is_begun and clock.start_by or 0
  if start_by == 0 then return clock.finish_by > 0 and clock.finish_by or nil end
  return clock.finish_by > 0 and math.min(start_by, clock.finish_by) or start_by
end
function clocks.watch_clock(step, id, f, is_begun)
  local at = f.clock and clocks.next_over(f.clock, is_begun)
  if at then flow.owes_at(step, 'expire - ' .. id, at) elseif f.clock then owes_no_more(step, 'expire - ' .. id) end
end

function clocks.start_clock(step, id, f, from)
  if not f.clock then return end
  if f.clock.start_within > 0 then f.clock.start_by = math.min(from + f.clock.start_within, base.longest) end
  flow.change_flow(step, id, f)
  clocks.watch_clock(step, id, f, false)
end
function clocks.stop_clock(step, id, f)
  if not f.clock then return end
  owes_no_more(step, 'expire - ' .. id)
end

function clocks.finish_clock_again(step, id, f)
  if not f.clock then return end
  if f.clock.finish_within > 0 then f.clock.finish_by = math.min(step.now + f.clock.finish_within, base.longest) end
  f.clock.start_by = 0
  flow.change_flow(step, id, f)
  clocks.watch_clock(step, id, f, false)
end
function clocks.begin_clock_again(step, id, f)
  clocks.finish_clock_again(step, id, f)
  clocks.start_clock(step, id, f, step.now)
end

function clocks.in_words(time)
  if time % 1000000 == 0 then return base.int_text(time / 1000000) .. ' s' end
  return base.int_text(math.ceil(time / 1000)) .. ' ms'
end

function clocks.over_for(step, f, is_begun)
  local c = f.clock
  if not c then return nil end
  if not is_begun and c.start_by > 0 and step.now >= c.start_by then
    return 'd', 'it did not start within ' .. clocks.in_words(c.start_within), 'expired'
  end
  if c.finish_by > 0 and step.now >= c.finish_by then
    return 'f', 'it was not over within ' .. clocks.in_words(c.finish_within), 'deadline'
  end
end
function clocks.has_begun(p) return p.attempt > 0 or p.losses > 0 end

function clocks.plan_expiry(step, ids, ended)
  flow.read_flows(step, ids)
  local histories = lists.many('HMGET', step.keys.history, ids)
  for i, id in ipairs(ids) do
    local f, p = flow.flow_of(step, id), values.read_history(histories[i])
    owes_no_more(step, 'expire - ' .. id)
    if f and f.clock and p then
      local begun = clocks.has_begun(p) or call('HEXISTS', step.keys.runs, id) == 1
      local letter, reason, cause = clocks.over_for(step, f, begun)

      if not (letter and early_ends.end_waiting(step, id, letter, reason, cause, ended)) and not letter then
        clocks.watch_clock(step, id, f, begun)
      end
    end
  end
end
end
do  -- unique_keys.lua




local int_text = base.int_text
local end_waiting = early_ends.end_waiting
function fresh.key_rows() return {} end      -- by key; false: nobody has it
function fresh.keys_changed() return {} end
local function read_key(value)
  local point, since, until_, at = match(value, '^([esp]) (%d+) (%d+) ()')
  local owner, behind = nil, nil
  if point then owner, behind = values.text_at(value, at) end
  return owner and {point = point, since = tonumber(since), until_ = tonumber(until_), owner = owner,
                    next_one = sub(value, behind)}
end

function unique_keys.read_keys(step, keys)
  for i, value in ipairs(lists.many('HMGET', step.keys.held_keys, keys)) do
    if step.key_rows[keys[i]] == nil then step.key_rows[keys[i]] = value and read_key(value) or false end
  end
end
function unique_keys.key_of(step, key)
  if step.key_rows[key] == nil then unique_keys.read_keys(step, {key}) end
  return step.key_rows[key]
end
function unique_keys.write_key(k)
  return k.point .. ' ' .. int_text(k.since) .. ' ' .. int_text(k.until_) .. ' ' .. values.text(k.owner) .. k.next_one
end
function unique_keys.change_key(step, key, k) step.key_rows[key], step.keys_changed[key] = k, true end

local function take_key(step, key, id, point, period)
  local until_ = point == 'p' and math.min(step.now + period, base.longest) or 0
  unique_keys.change_key(step, key, {point = point, since = step.now, until_ = until_, owner = id, next_one = ''})
  if point == 'p' then flow.owes_at(step, 'key - ' .. key, until_) else flow.owes_no_more(step, 'key - ' .. key) end
end

function unique_keys.free_key(step, id, f)
  local k = f.key and unique_keys.key_of(step, f.key)
  if not k then return end
  if k.next_one == id then
    k.next_one = ''
    unique_keys.change_key(step, f.key, k)
  elseif k.owner == id and k.point ~= 'p' then
    k.owner, k.next_one = k.next_one, ''
    unique_keys.change_key(step, f.key, k.owner ~= '' and k)
  end
end

function unique_keys.take_key_again(step, id, f)
  if f.key and f.point == 's' and not unique_keys.key_of(step, f.key) then take_key(step, f.key, id, 's', 0) end
end

function unique_keys.key_taken_by(step, id, f)
  local k = f.key and unique_keys.key_of(step, f.key)
  if k and k.owner ~= id and not (k.point == 'p' and step.now >= k.until_) then return k.owner end
  if f.key and f.point ~= 'p' and not (k and k.owner == id) then take_key(step, f.key, id, f.point, 0) end
end
function unique_keys.sweep_key(step, key)
  local k = unique_keys.key_of(step, key)
  flow.owes_no_more(step, 'key - ' .. key)
  if not k or k.point ~= 'p' then return end
  if step.now >= k.until_ then
    unique_keys.change_key(step, key, false)
  else
    flow.owes_at(step, 'key - ' .. key, k.until_)
  end
end





function unique_keys.ask_for_key(step, id, key, o, delay, parents, named, ended)
  local k = unique_keys.key_of(step, key)
  local owner = k and k.owner
  local is_over = not k or k.point == 'p' and step.now >= k.until_
  if is_over then
    take_key(step, key, id, o.point, o.period)
    return 'stored', ''
  end
  if o.rule == 'refuse' then return 'refused', owner end
  if named[owner] then return 'duplicate', owner end
  local may_replace = o.rule == 'replace' and not named[k.next_one]
  for _, parent in ipairs(may_replace and parents or {}) do
    local is_in_place = parent.state == '0' and (parent.id == owner or parent.id == k.next_one)
    if is_in_place and early_ends.waiting_at(step, owner) then return 'own_parent', parent.id end
  end
  if may_replace and end_waiting(step, owner, 'd', 'replaced by ' .. id, 'replaced', ended) then
    if k.next_one ~= '' then end_waiting(step, k.next_one, 'd', 'replaced by ' .. id, 'replaced', ended) end
    take_key(step, key, id, o.point, o.period)
    return 'stored', owner
  end
  if o.rule == 'coalesce' and call('HEXISTS', step.keys.runs, owner) == 1 and k.point == 'e' then
    local before = k.next_one
    if before ~= '' and named[before] then return 'duplicate', before end
    if before ~= '' then end_waiting(step, before, 'd', 'replaced by ' .. id, 'replaced', ended) end
    k.next_one = id
    unique_keys.change_key(step, key, k)
    return 'stored', before
  end
  if o.rule == 'extend' then
    local record = call('HGET', step.keys.jobs, owner)
    local queue = record and values.queue_of(record)
    local scheduled = queue and call('ZSCORE', places.line(step, 'scheduled', queue), owner)
    if scheduled and not step.flow_moved[owner] then
      local at = step.now + delay
      if o.at_most > 0 then at = math.min(at, k.since + o.at_most) end
      at = math.max(at, step.now)
      local f = flow.flow_of(step, owner)
      local finish_by = f and f.clock and f.clock.finish_by or 0
      if finish_by > 0 and at >= finish_by then return 'refused', owner end  -- it could never run
      lists.add_two(step.flow_plan.staying, base.sorted(step, places.line(step, 'scheduled', queue)), int_text(at),
                    owner)
      base.sorted(step, step.keys.due)
      step.flow_plan.refresh[queue] = true
      hints.has_work(step, '@')
      if f then clocks.start_clock(step, owner, f, at) end
      return 'extended', owner
    end
  end
  local is_kept = call('HEXISTS', step.keys.jobs, owner) == 1 or
    call('HEXISTS', step.keys.quarantine, owner) == 1
  return is_kept and 'duplicate' or 'forgotten', owner
end
end
do  -- groups.lua







local int_text, longest = base.int_text, base.longest
local members = keys.members
local change_flow, flow_of, owes_at, owes_no_more = flow.change_flow, flow.flow_of, flow.owes_at, flow.owes_no_more
groups.group_kept = 86400000000  -- behind its end, and longer while members or those who wait for it are stored
function fresh.group_rows() return {} end  -- by name; false: there is none
function fresh.groups_changed() return {} end
function fresh.groups_gone() return {} end
function groups.node_of(group) return '@' .. group end
function groups.group_in(node) return sub(node, 1, 1) == '@' and sub(node, 2) end
function groups.group_of(step, name)
  if step.group_rows[name] == nil then
    local state, open, s, f, d, created, ended =
      match(call('HGET', step.keys.group_counts, name) or '',
                   '^([osc]) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
    step.group_rows[name] = state and {state = state, open = tonumber(open), s = tonumber(s), f = tonumber(f),
                                       d = tonumber(d), created = tonumber(created), ended = tonumber(ended)} or false
  end
  return step.group_rows[name]
end
function groups.write_group(g)
  return g.state .. ' ' .. int_text(g.open) .. ' ' .. int_text(g.s) .. ' ' .. int_text(g.f) .. ' ' .. int_text(g.d) ..
         ' ' .. int_text(g.created) .. ' ' .. int_text(g.ended)
end
function groups.change_group(step, name, g) step.group_rows[name], step.groups_changed[name] = g, true end
function groups.is_finished(g) return g.state ~= 'o' and g.open == 0 end

function groups.end_of_group(g)
  if not groups.is_finished(g) then return '' end
  return g.f > 0 and 'f' or (g.d > 0 or g.state == 'c') and 'd' or 's'
end

function groups.is_cancelled(step, name)
  local g = groups.group_of(step, name)
  if not g or g.state == 'c' then return true end
  local f = flow_of(step, groups.node_of(name))
  return f and f.group and groups.is_cancelled(step, f.group) or false
end


function groups.tell_group(step, name, answer)
  local g, n = groups.group_of(step, name), #answer
  if not g then return end
  local f = flow_of(step, groups.node_of(name))
  local seal_by = g.state == 'o' and tonumber(call('ZSCORE', step.keys.agenda, 'seal - ' ..
                                                         groups.node_of(name)) or '0') or 0
  answer[n + 1], answer[n + 2] = name, f and f.group or ''
  answer[n + 3], answer[n + 4] = groups.write_group(g), int_text(seal_by)
end
groups.member_scores = {s = '1', f = '2', d = '3'}
function groups.put_member(step, group, id, score)
  lists.add_two(step.flow_plan.edges, base.sorted(step, members(step, group)), score, id)
end



function groups.why_closed(step, name, by, by_fence)
  local g = groups.group_of(step, name)
  if not g then return 'no_group' end
  if groups.is_cancelled(step, name) then return 'cancelled' end
  if g.state == 'o' then return nil end
  local f, row = by ~= '' and flow_of(step, by), by ~= '' and call('HGET', step.keys.runs, by)
  local is_its = f and f.group == name and row and sub(row, 1, #by_fence + 1) == by_fence .. ' '
  return not is_its and 'sealed' or nil
end
function groups.add_member(step, name, id)
  local g = groups.group_of(step, name)
  g.open = g.open + 1
  groups.change_group(step, name, g)
  groups.put_member(step, name, id, '0')
end


function groups.finish_group(step, name, g, ended)
  g.ended = step.now
  groups.change_group(step, name, g)
  owes_no_more(step, 'seal - ' .. groups.node_of(name))
  owes_at(step, 'forget - ' .. groups.node_of(name), math.min(step.now + groups.group_kept, longest))
  ended[#ended + 1] = {groups.node_of(name), groups.end_of_group(g)}
end

function groups.count_end(step, id, f, letter, ended)
  local g = f.group and f.counted == '-' and groups.group_of(step, f.group)
  if not g then return end
  f.counted = letter
  change_flow(step, id, f)
  g.open, g[letter] = math.max(0, g.open - 1), g[letter] + 1
  groups.change_group(step, f.group, g)
  groups.put_member(step, f.group, id, groups.member_scores[letter])
  if letter == 'f' and g.f == 1 then ended[#ended + 1] = {groups.node_of(f.group), 'e'} end
  if groups.is_finished(g) then groups.finish_group(step, f.group, g, ended) end
end

function groups.count_again(step, id, f, again)
  local g = f.group and f.counted ~= '-' and groups.group_of(step, f.group)
  if not g then return end
  local node, was_finished = groups.node_of(f.group), groups.is_finished(g)
  g.open, g[f.counted], f.counted = g.open + 1, g[f.counted] - 1, '-'
  change_flow(step, id, f)
  groups.change_group(step, f.group, g)
  groups.put_member(step, f.group, id, '0')
  if not was_finished then return end
  g.ended = 0
  owes_no_more(step, 'forget - ' .. node)
  flow.take_back_end(step, node)
  again[#again + 1] = node
  local its = flow_of(step, node)
  if its then groups.count_again(step, node, its, again) end
end

local function cancel_group(step, name, ended)
  local g = groups.group_of(step, name)
  owes_no_more(step, 'seal - ' .. groups.node_of(name))
  if not g or g.state == 'c' or groups.is_finished(g) then return false end
  g.state = 'c'
  groups.change_group(step, name, g)
  if g.open > 0 then
    flow.owes(step, 'cancel - ' .. groups.node_of(name))
  else
    groups.finish_group(step, name, g, ended)
  end
  return true
end

local function ask_to_end(step, id, reason)
  local run, p = values.read_run(call('HGET', step.keys.runs, id) or ''),
    values.read_history(call('HGET', step.keys.history, id))
  if not run or not p or values.is_asked_to_end(run) then return end
  values.remember(step, p, '0', 0, step.now_text, '', values.text('cancel_asked') .. values.text(reason) .. '0')
  p.reason, run.has = 'cancellation asked for: ' .. reason, values.has_when_asked[run.has]
  local histories, its_runs = step.flow_plan.histories, step.flow_plan.runs
  histories[#histories + 1], histories[#histories + 2] = id, values.write_history(p)
  its_runs[#its_runs + 1], its_runs[#its_runs + 2] = id, values.write_run(run)
  hints.has_work(step, '!')
end
function groups.cancel_unsealed(step, name, ended)
  local g = groups.group_of(step, name)
  if not g or g.state == 'o' then
    cancel_group(step, name, ended)
  else
    owes_no_more(step, 'seal - ' .. groups.node_of(name))
  end
end

local max_cancelled = 250
fresh.cancelled_now = 0
function groups.cancel_members(step, name, ended)
  local slice = max_cancelled - step.cancelled_now
  if slice <= 0 then return end
  owes_no_more(step, 'cancel - ' .. groups.node_of(name))
  local ids = call('ZRANGE', members(step, name), 0, 0, 'BYSCORE', 'LIMIT', 0, slice)
  flow.read_flows(step, ids)
  for _, id in ipairs(ids) do
    local nested = groups.group_in(id)
    local has_ended = false
    if nested then cancel_group(step, nested, ended)
    else has_ended = early_ends.end_waiting(step, id, 'd', 'its group ' .. name .. ' was cancelled', 'cancelled',
                                            ended) end
    if not has_ended then
      groups.put_member(step, name, id, '4')
      if not nested then ask_to_end(step, id, 'its group ' .. name .. ' was cancelled') end
    end
  end
  step.cancelled_now = step.cancelled_now + #ids
  if #ids == slice then flow.owes(step, 'cancel - ' .. groups.node_of(name)) end
end

function groups.forget_group(step, name, may_go)
  local g = groups.group_of(step, name)
  owes_no_more(step, 'forget - ' .. groups.node_of(name))
  if not g or not groups.is_finished(g) then return end
  if may_go and call('EXISTS', members(step, name)) == 0 then
    step.groups_gone[#step.groups_gone + 1] = name
  else
    owes_at(step, 'forget - ' .. groups.node_of(name), math.min(step.now + groups.group_kept, longest))
  end
end


local max_depth = 16
local function depth_of(step, name)
  local depth = 0
  while name ~= '' and depth < max_depth do
    local f = flow_of(step, groups.node_of(name))
    depth, name = depth + 1, f and f.group or ''
  end
  return depth
end

function groups.plan_group_change(step, what, name, parent, seal_within, ended)
  local g, node = groups.group_of(step, name), groups.node_of(name)
  if what == 'create' then
    local f = flow_of(step, node)
    if g then return (f and f.group or '') == parent and 'already' or 'other ' .. (f and f.group or '') end
    local closed = parent ~= '' and groups.why_closed(step, parent, '', '')
    if closed then return closed .. ' ' .. parent end
    if depth_of(step, parent) >= max_depth then return 'too_deep ' .. parent end
    if parent ~= '' then
      change_flow(step, node, {has_children = false, group = parent, counted = '-'})
      groups.add_member(step, parent, node)
    end
    groups.change_group(step, name, {state = 'o', open = 0, s = 0, f = 0, d = 0, created = step.now, ended = 0})
    owes_at(step, 'seal - ' .. node, math.min(step.now + tonumber(seal_within), longest))
    return 'done'
  end
  if not g then return 'not_found' end
  if what == 'cancel' then
    if g.state == 'c' then return 'already' end
    return cancel_group(step, name, ended) and 'done' or 'is finished'
  end
  if g.state == 's' then return 'already' end
  if g.state == 'c' then return 'is cancelled' end
  g.state = 's'
  groups.change_group(step, name, g)
  owes_no_more(step, 'seal - ' .. node)
  if g.open == 0 then groups.finish_group(step, name, g, ended) end
  return 'done'
end
end
do  -- continuations.lua










local int_text, sorted = base.int_text, base.sorted
local after, members = keys.after, keys.members
local add_one, add_two, each_list, many = lists.add_one, lists.add_two, lists.each_list, lists.many
local queue_of, read_history = values.queue_of, values.read_history
local line = places.line
local change_flow, flow_of, look_at_agenda, owes, write_flow = flow.change_flow, flow.flow_of, flow.look_at_agenda,
  flow.owes, flow.write_flow
local group_in, is_cancelled = groups.group_in, groups.is_cancelled
local max_resolved = 80
function fresh.resolved() return {n = 0} end


function continuations.verdict_on(f)
  if f.unless == 'u' then return false, false end
  local met, unmet = 0, 0
  for _, parent in ipairs(f.parents) do
    local state = parent.state
    if state == '1' or state == '3' then met = met + 1 elseif state ~= '0' then unmet = unmet + 1 end
  end
  return met >= f.need, unmet > #f.parents - f.need
end


local function is_there(step, parent)
  local its = parent.state < '3' and flow_of(step, parent.id)
  return its and its.has_children
end
function continuations.after_parent(step, id) return sorted(step, after(step, id)) end
function continuations.enter_after_release(step, id, queue, f)
  if f.delay > 0 then
    local at = step.now + f.delay
    add_two(step.flow_plan.entering, sorted(step, line(step, 'scheduled', queue)), int_text(at), id)
    sorted(step, step.keys.due)
    step.flow_plan.due[queue] = math.min(step.flow_plan.due[queue] or at, at)
    hints.has_work(step, '@')
  else
    add_two(step.flow_plan.entering, sorted(step, line(step, 'ready', queue)), int_text(numbers.draw(step, 1)), id)
    hints.has_work(step, queue)
  end
  clocks.start_clock(step, id, f, step.now + f.delay)
end

function continuations.edge_score(f, parent)
  if parent.state == '0' then return f.on == 'e' and '-1' or '0' end
  return f.is_unmet and '2' or '1'
end

function continuations.put_edges(step, id, f)
  for _, parent in ipairs(f.parents) do
    if is_there(step, parent) then
      add_two(step.flow_plan.edges, continuations.after_parent(step, parent.id), continuations.edge_score(f, parent),
              id)
    end
  end
  step.resolved.n = step.resolved.n + #f.parents - 1
end
continuations.words_of_ends = {s = 'succeeded', f = 'failed', d = 'deleted'}

local function enter_as_unmet(step, id, queue, f, parent, letter)
  local group = group_in(parent)
  local reason = (group and 'its group ' .. group or 'its parent ' .. parent) ..
                 (continuations.words_of_ends[letter] and ' ended as ' .. continuations.words_of_ends[letter] or
                  ' is not there')
  if not early_ends.enter_final(step, id, queue, 'd', reason, 'unmet') then return false end
  f.is_unmet = true
  continuations.put_edges(step, id, f)
  change_flow(step, id, f)
  return true
end

function continuations.place_child(step, id, queue, f, parent, letter)
  local is_met, is_unmet = continuations.verdict_on(f)
  if not is_met and (not is_unmet or f.unless == 'k') then return 'awaiting' end
  if not is_met and f.unless == 'd' and enter_as_unmet(step, id, queue, f, parent, letter) then return 'unmet' end
  continuations.enter_after_release(step, id, queue, f)
  return 'released'
end



function continuations.end_of(step, id, besides)
  local name = group_in(id)
  if name then
    local g = groups.group_of(step, name)
    return g and groups.end_of_group(g) or not g and 'missing' or ''
  end
  if besides[id] then return '' end
  local record = call('HGET', step.keys.jobs, id)
  if not record then return call('HEXISTS', step.keys.quarantine, id) == 1 and 'f' or 'missing' end
  local queue = queue_of(record)
  for _, kind in ipairs(queue and places.final_kinds or {}) do
    if call('ZSCORE', line(step, kind, queue), id) then return sub(kind, 1, 1) end
  end
  return ''
end


function continuations.place_awaiting(step, id, f, parent, letter, ended)
  local record = call('HGET', step.keys.jobs, id)
  local queue = record and queue_of(record)
  if not queue or step.flow_moved[id] or not call('ZSCORE', line(step, 'awaiting', queue), id) then return nil end
  local where = continuations.place_child(step, id, queue, f, parent, letter)
  if where == 'awaiting' then return where end
  step.flow_moved[id] = true
  add_one(step.flow_plan.leaving, sorted(step, line(step, 'awaiting', queue)), id)
  if where == 'unmet' then ended[#ended + 1] = {id, 'd'} end
  return where
end

local function resolve(step, parent, id, letter, ended)
  local f = flow_of(step, id)
  local is_waiting = false
  for _, one in ipairs(f and f.parents or {}) do
    if one.id == parent and one.state == '0' then
      one.state, is_waiting = string.find(f.on, letter, 1, true) and '1' or '2', true
    end
  end
  add_two(step.flow_plan.edges, continuations.after_parent(step, parent), f and f.is_unmet and '2' or '1', id)
  if not is_waiting then return end
  change_flow(step, id, f)
  continuations.place_awaiting(step, id, f, parent, letter, ended)
end
local function left_to_resolve(step) return math.max(0, max_resolved - step.resolved.n) end


function continuations.let_go(step, id, f, letter, ended)
  if f.parents and not (f.is_unmet and letter == 'd') then
    for _, parent in ipairs(f.parents) do
      if is_there(step, parent) then
        add_one(step.flow_plan.dropped, continuations.after_parent(step, parent.id), id)
      end
    end
    step.resolved.n = step.resolved.n + #f.parents - 1
    f.parents = nil
    change_flow(step, id, f)
  end
  unique_keys.free_key(step, id, f)
  clocks.stop_clock(step, id, f)
  groups.count_end(step, id, f, letter, ended)
end

local function has_new_child(step, id, letter)
  local list = step.flow_plan.edges.of[after(step, id)] or {}
  for i = 2, #list, 2 do
    local f = flow_of(step, list[i])
    for _, parent in ipairs(f and f.parents or {}) do
      if parent.id == id and parent.state == '0' and (letter ~= 'e' or f.on == 'e') then return true end
    end
  end
  return false
end


function continuations.plan_ends(step, ended)
  look_at_agenda(step)
  local ids, next_one = {}, 1
  for i, one in ipairs(ended) do ids[i] = one[1] end
  flow.read_flows(step, ids)
  while next_one <= #ended do
    local id, letter = ended[next_one][1], ended[next_one][2]
    next_one = next_one + 1
    local f, member = flow_of(step, id), 'edges ' .. letter .. ' ' .. id
    if f then
      if letter ~= 'e' then continuations.let_go(step, id, f, letter, ended) end
      flow.owes_no_more(step, member)
    end
    if f and f.has_children then
      local left = left_to_resolve(step)
      local first, last = '-inf', 0
      if letter == 'e' then first, last = -1, -1 end
      local children = call('ZRANGE', continuations.after_parent(step, id), first, last, 'BYSCORE', 'LIMIT', 0,
                                  left + 1)
      flow.read_flows(step, children)
      for i, child in ipairs(children) do
        if i > left or step.resolved.n >= max_resolved then
          owes(step, member)
          break
        end
        step.resolved.n = step.resolved.n + 1
        resolve(step, id, child, letter, ended)
      end
      if has_new_child(step, id, letter) then owes(step, member) end
    end
  end
end


function continuations.reduce_row(step, id, f)
  if f.group then add_one(step.flow_plan.dropped, sorted(step, members(step, f.group)), id) end
  f.group, f.key, f.clock, f.parents = nil, nil, nil, nil
  change_flow(step, id, f)
end

function continuations.reduce_quarantined(step, ended)
  for _, one in ipairs(ended) do
    local f = flow_of(step, one[1])
    if f and not group_in(one[1]) and call('HEXISTS', step.keys.jobs, one[1]) == 0 then
      continuations.reduce_row(step, one[1], f)
    end
  end
end


local function goes_on(step, parent, on)
  local g = group_in(parent) and groups.group_of(step, group_in(parent))
  return g and groups.end_of_group(g) == '' and not (on == 'e' and g.f > 0)
end


local function forget_other_lives(step, id, f)
  for _, parent in ipairs(f.parents) do
    local knows_it = is_there(step, parent) and call('ZSCORE', continuations.after_parent(step, parent.id), id)
    if parent.state ~= '0' and parent.state < '3' and not knows_it then
      parent.state = parent.state == '1' and '3' or '4'
    end
  end
end

local function await_again(step, id, child, again)
  local f = flow_of(step, child)
  local record = f and f.is_unmet and f.parents and call('HGET', step.keys.jobs, child)
  local queue = record and queue_of(record)
  if queue then forget_other_lives(step, child, f) end
  for _, one in ipairs(queue and f.parents or {}) do
    if one.state < '3' and (one.id == id or goes_on(step, one.id, f.on)) then one.state = '0' end
  end
  if not queue then
    local score = '1'
    for _, one in ipairs(f and f.parents or {}) do

      if one.id == id and not f.is_unmet then score = continuations.edge_score(f, one) end
    end
    return add_two(step.flow_plan.edges, continuations.after_parent(step, id), score, child)
  end
  local _, is_unmet = continuations.verdict_on(f)
  local comes_back = not is_unmet and not (f.group and is_cancelled(step, f.group)) and
                     call('ZSCORE', line(step, 'deleted', queue), child) and
                       not unique_keys.key_taken_by(step, child, f)
  if comes_back then
    f.is_unmet = false
    flow.take_back_end(step, child)
    groups.count_again(step, child, f, again)
    clocks.finish_clock_again(step, child, f)
    add_one(step.flow_plan.leaving, sorted(step, line(step, 'deleted', queue)), child)
    add_two(step.flow_plan.entering, sorted(step, line(step, 'awaiting', queue)), int_text(numbers.draw(step, 1)),
            child)
    local p = read_history(call('HGET', step.keys.history, child)) or read_history(nil)
    p.reason = ''
    local histories = step.flow_plan.histories
    histories[#histories + 1], histories[#histories + 2] = child, values.write_history(p)
  end
  continuations.put_edges(step, child, f)
  change_flow(step, child, f)
end


local function plan_again(step, again)
  look_at_agenda(step)
  local next_one = 1
  while next_one <= #again do
    local id = again[next_one]
    local f, member = flow_of(step, id), 'again - ' .. id
    next_one = next_one + 1
    flow.owes_no_more(step, member)
    if f and f.has_children then
      local left = left_to_resolve(step)
      for i, child in ipairs(call('ZRANGE', continuations.after_parent(step, id), 2, 2, 'BYSCORE', 'LIMIT', 0,
                                        left + 1)) do
        if i > left or step.resolved.n >= max_resolved then
          owes(step, member)
          break
        end
        step.resolved.n = step.resolved.n + 1
        await_again(step, id, child, again)
      end
    end
  end
end

function continuations.go_on_again(step, id)
  plan_again(step, {id})
  local letter = continuations.end_of(step, id, {})
  if #letter == 1 then owes(step, 'edges ' .. letter .. ' ' .. id) end
end


function continuations.plan_requeue(step, id, was_final)
  look_at_agenda(step)
  local f, again = flow_of(step, id), {}
  if f and f.group and f.counted ~= '-' and is_cancelled(step, f.group) then return 'cancelled ' .. f.group end
  local taken_by = f and was_final and unique_keys.key_taken_by(step, id, f)
  if taken_by then return 'unique ' .. taken_by end
  flow.take_back_end(step, id)
  again[1] = id
  if f then
    groups.count_again(step, id, f, again)
    clocks.begin_clock_again(step, id, f)
    if f.parents and f.is_unmet then
      forget_other_lives(step, id, f)
      f.is_unmet = false
      continuations.put_edges(step, id, f)
      change_flow(step, id, f)
    end
  end
  plan_again(step, again)
end


function continuations.must_not_start(step, id, p, ended)
  local f = flow_of(step, id)
  if not f then return false end
  if step.flow_moved[id] then return true end  -- it was met before
  if f.group and is_cancelled(step, f.group) then
    return early_ends.end_waiting(step, id, 'd', 'its group ' .. f.group .. ' was cancelled', 'cancelled', ended)
  end
  local letter, reason, cause = clocks.over_for(step, f, clocks.has_begun(p))
  return letter and early_ends.end_waiting(step, id, letter, reason, cause, ended) or false
end

function continuations.plan_starts(step, ids)
  for _, id in ipairs(ids) do
    local f = flow_of(step, id)
    if f and f.point == 's' then unique_keys.free_key(step, id, f) end
  end
end

function continuations.times_left(step, ids)
  local told = {}
  for i, id in ipairs(ids) do
    local f = flow_of(step, id)
    if f and f.clock and f.clock.finish_by > 0 then
      told[#told + 1] = ' ' .. i .. ' ' .. int_text(math.max(1, f.clock.finish_by - step.now))
    end
  end
  return table.concat(told)
end

function continuations.is_too_late(step, id, at)
  local f = flow_of(step, id)
  if not (f and f.clock and f.clock.finish_by > 0 and at >= f.clock.finish_by) then return nil end
  if step.now >= f.clock.finish_by then
    return 'failed: it was not over within ' .. clocks.in_words(f.clock.finish_within)
  end
  return 'failed: a retry would begin later than ' .. clocks.in_words(f.clock.finish_within) .. ' after its enqueue'
end

function continuations.plan_going_on(step, id, never_begun, begun)
  local f = flow_of(step, id)
  if not f then return end
  if never_begun then unique_keys.take_key_again(step, id, f) end
  clocks.watch_clock(step, id, f, begun)
end


function continuations.may_be_forgotten(step, id)
  local f = flow_of(step, id)
  return not f or not f.has_children or call('ZCOUNT', after(step, id), '-inf', 1) == 0
end
function continuations.forget_flow(step, ids)
  local gone, is_gone, named, rows = {}, {}, {}, {}
  for _, id in ipairs(ids) do
    local f = flow_of(step, id)
    if f then
      gone[#gone + 1], is_gone[id] = id, true
      if f.group then sorted(step, members(step, f.group)) end
      for _, parent in ipairs(f.parents or {}) do
        if is_there(step, parent) then
          continuations.after_parent(step, parent.id)
          named[#named + 1] = {parent.id, id}
        end
      end
    end
  end

  local left = max_resolved
  for _, id in ipairs(gone) do
    for _, child in ipairs(flow_of(step, id).has_children and left > 0 and
                           call('ZRANGE', continuations.after_parent(step, id), 0, left - 1) or {}) do
      local its = not is_gone[child] and flow_of(step, child)
      left = left - 1
      for _, parent in ipairs(its and its.parents or {}) do
        if parent.id == id and (parent.state == '1' or parent.state == '2') then
          parent.state = parent.state == '1' and '3' or '4'
          rows[child] = its
        end
      end
    end
  end
  for child, its in pairs(rows) do call('HSET', step.keys.flow, child, write_flow(its)) end
  for _, id in ipairs(gone) do
    call('DEL', after(step, id))
    if flow_of(step, id).group then call('ZREM', members(step, flow_of(step, id).group), id) end
  end
  for _, one in ipairs(named) do
    local parent, id = one[1], one[2]
    local its = flow_of(step, parent)
    call('ZREM', after(step, parent), id)
    if not is_gone[parent] and its.has_children and call('EXISTS', after(step, parent)) == 0 then
      its.has_children = false
      local row = write_flow(its)
      if row then call('HSET', step.keys.flow, parent, row) else gone[#gone + 1] = parent end
    end
  end
  many('HDEL', step.keys.flow, gone)
  for _, id in ipairs(gone) do step.flow_rows[id] = false end
  if call('EXISTS', step.keys.agenda) == 1 then  -- which may tell of some that have no row any more
    local owed = {}
    for _, list in ipairs({ids, gone}) do
      for _, id in ipairs(list) do
        for _, word in ipairs({'edges s ', 'edges f ', 'edges d ', 'edges e ', 'again - ', 'expire - '}) do
          owed[#owed + 1] = word .. id
        end
      end
    end
    many('ZREM', step.keys.agenda, owed)
  end
  if #gone > 0 and call('HLEN', step.keys.flow) == 0 and call('EXISTS', step.keys.agenda) == 0 then
    call('DEL', step.keys.flow_mark)
  end
end


function continuations.carry_out_ends(step)
  local plan = step.flow_plan
  step.flow_plan, step.flow_moved, step.first_of_agenda = nil, nil, nil  -- a step may plan again
  each_list(plan.staying, 'ZADD')
  each_list(plan.leaving, 'ZREM')
  many('HSET', step.keys.history, plan.histories)
  many('HSET', step.keys.runs, plan.runs)
  each_list(plan.entering, 'ZADD')
  for queue, instant in pairs(plan.due) do call('ZADD', step.keys.due, 'LT', int_text(instant), queue) end
  for queue in pairs(plan.refresh) do places.refresh_due(step, queue) end
  each_list(plan.edges, 'ZADD')
  each_list(plan.dropped, 'ZREM')
  for _, key in ipairs(plan.dropped.order) do
    local parent = sub(key, 1, #after(step, '')) == after(step, '') and sub(key, #after(step, '') + 1)
    local f = parent and flow_of(step, parent)
    if f and f.has_children and call('EXISTS', key) == 0 then
      f.has_children = false
      change_flow(step, parent, f)
    end
  end
  local function write_rows(key, changed, rows_by, write)
    local rows, gone = {}, {}
    for id in pairs(changed) do
      local row = rows_by[id] and write(rows_by[id])
      if row then rows[#rows + 1], rows[#rows + 2] = id, row
      else rows_by[id], gone[#gone + 1] = false, id end
      changed[id] = nil
    end
    many('HSET', key, rows)
    many('HDEL', key, gone)
    return #rows > 0
  end
  local is_used = write_rows(step.keys.flow, step.flow_changed, step.flow_rows, write_flow)
  write_rows(step.keys.held_keys, step.keys_changed, step.key_rows, unique_keys.write_key)
  is_used = write_rows(step.keys.group_counts, step.groups_changed, step.group_rows, groups.write_group) or is_used
  local owed, over = {}, {}
  for member, instant in pairs(plan.owed) do
    if instant then owed[#owed + 1], owed[#owed + 2] = int_text(instant), member else over[#over + 1] = member end
  end
  many('ZADD', step.keys.agenda, owed)
  many('ZREM', step.keys.agenda, over)
  if is_used or #owed > 0 then
    call('SET', step.keys.flow_mark, '1')
    step.has_flow = '1'  -- for what this step does yet
  end
  for _, name in ipairs(step.groups_gone) do
    call('HDEL', step.keys.group_counts, name)
    continuations.forget_flow(step, {groups.node_of(name)})
  end
  step.groups_gone = {}

  for id, a in pairs(admissions.admissions_of(step, plan.forgotten)) do
    if a.at ~= '' then waiting.remove_waiter(step, a.at, id) end
  end
  for _, id in ipairs(plan.forgotten) do waiting.forget_job(step, id) end
  if call('HLEN', step.keys.flow) == 0 and call('EXISTS', step.keys.agenda) == 0 then
    call('DEL', step.keys.flow_mark)
  end
end

function continuations.tell_of_parked(step, ids)
  for _, id in ipairs(ids) do
    local p = read_history(call('HGET', step.keys.history, id))
    continuations.plan_going_on(step, id, not p or p.attempt == 0, p and clocks.has_begun(p))
  end
  continuations.carry_out_ends(step)
end
end
do  -- flow_jobs.lua



local flow_of = flow.flow_of
local flow_job_values = 7






function fresh.options_read() return {} end
local function options_of(step, said)
  if step.options_read[said] then return step.options_read[said] end
  local o = {}
  o.on, o.unless, o.need, o.if_missing, o.group, o.by, o.fence, o.point, o.period, o.rule, o.at_most, o.start_within,
    o.finish_within = match(said, '^' .. ('(%S+) '):rep(12) .. '(%S+)$')
  for name, word in pairs(o) do o[name] = word ~= '=' and word or nil end
  o.need, o.period, o.at_most = tonumber(o.need), tonumber(o.period), tonumber(o.at_most)
  o.start_within, o.finish_within = tonumber(o.start_within), tonumber(o.finish_within)
  step.options_read[said] = o
  return o
end
function fresh.new_jobs()
  return {records = {}, queues = {}, is_known = {}, mine = {}, named = {}, ends = {}, ended = {}, stored = {}}
end


function flow_jobs.read_new(step, at, last)
  local ids, named_keys = {}, {}
  while at <= last do
    local key = step.args[at + 5]
    ids[#ids + 1] = step.args[at]
    if key ~= '' then named_keys[#named_keys + 1] = key end
    at = at + flow_job_values + tonumber(step.args[at + flow_job_values - 1])
  end
  for i, record in ipairs(lists.many('HMGET', step.keys.jobs, ids)) do
    if record then step.new_jobs.stored[ids[i]] = record end
  end
  flow.read_flows(step, ids)
  unique_keys.read_keys(step, named_keys)
  return at
end



local max_followed = 1000
local function awaits_group(step, parents, group)
  local around, name = {}, group
  while name do
    around[groups.node_of(name)] = true
    local its = flow_of(step, groups.node_of(name))
    name = its and its.group
  end
  local open, seen, n = {}, {}, 0
  for i, parent in ipairs(parents) do open[i] = parent.id end
  while #open > 0 and n < max_followed do
    local id = table.remove(open)
    if around[id] then return true end
    local f = not seen[id] and not groups.group_in(id) and flow_of(step, id)
    if not seen[id] then seen[id], n = true, n + 1 end

    for _, parent in ipairs(f and f.group ~= group and f.parents or {}) do
      if parent.state == '0' then open[#open + 1] = parent.id end
    end
  end
  return false
end


local function end_for(step, parent, on)
  local name = groups.group_in(parent)
  local g = name and groups.group_of(step, name)
  if g then return on == 'e' and g.f > 0 and 'e' or groups.end_of_group(g) end
  local letter = step.new_jobs.ends[parent]
  if letter == nil then
    letter = continuations.end_of(step, parent, step.new_jobs.mine)
    step.new_jobs.ends[parent] = letter
  end
  return letter
end



local function parents_at(step, at, count, o)
  local parents, unmet, letter_of_unmet = {}, nil, nil
  for i = 1, count do
    local parent = step.args[at + flow_job_values - 1 + i]
    local letter = end_for(step, parent, o.on)
    if letter == 'missing' and not o.if_missing then return nil, parent end
    local state = '0'
    if letter == 'missing' then state = o.if_missing == 'r' and '3' or '4'
    elseif letter ~= '' then state = string.find(o.on, letter, 1, true) and '1' or '2' end
    if state == '2' or state == '4' then unmet, letter_of_unmet = parent, letter end
    parents[i] = {id = parent, state = state}
  end
  return parents, unmet, letter_of_unmet
end
local function clock_of(step, o)
  if not (o.start_within or o.finish_within) then return nil end
  return {start_within = o.start_within and math.max(1, o.start_within) or 0, start_by = 0,
          finish_within = o.finish_within and math.max(1, o.finish_within) or 0,
          finish_by = o.finish_within and math.max(1, math.min(step.now + o.finish_within, base.longest)) or 0}
end

local function place_new(step, id, queue, f, unmet, letter_of_unmet)
  local ended_as, reason, cause = clocks.over_for(step, f, false)
  if ended_as then
    early_ends.enter_final(step, id, queue, ended_as, reason, cause)
    return ended_as
  end
  if not f.parents then
    continuations.enter_after_release(step, id, queue, f)
    clocks.watch_clock(step, id, f, false)
    return nil
  end
  local where = continuations.place_child(step, id, queue, f, unmet, letter_of_unmet)
  if where == 'unmet' then return 'd' end
  if where == 'awaiting' then
    lists.add_two(step.flow_plan.entering, base.sorted(step, places.line(step, 'awaiting', queue)),
                  base.int_text(numbers.draw(step, 1)), id)
    clocks.watch_clock(step, id, f, false)
  end
end





function flow_jobs.plan_new(step, at)
  local id, queue, delay, record = step.args[at], step.args[at + 1], tonumber(step.args[at + 2]), step.args[at + 3]
  local o, key, count = options_of(step, step.args[at + 4]), step.args[at + 5], tonumber(step.args[at + 6])
  local behind = at + flow_job_values + count
  step.new_jobs.named[id] = true
  local there = step.new_jobs.mine[id] or step.new_jobs.stored[id]
  if there and not step.new_jobs.mine[id] and places.is_half_stored(step, id, there) then there = nil end
  if there and o.group then
    local its = flow_of(step, id)
    if not its or its.group ~= o.group then return 'other_group', its and its.group or '', behind end
  end
  if there then return 'there', there, behind end
  if #step.new_jobs.queues == 0 then call('SCARD', step.keys.queues) end
  local earlier = flow_of(step, id)  -- of a life that ended in quarantine
  if earlier then
    continuations.let_go(step, id, earlier, 'f', step.new_jobs.ended)
    flow.take_back_end(step, id)
    continuations.reduce_row(step, id, earlier)
  end

  local parents, unmet, letter_of_unmet
  if count > 0 then
    parents, unmet, letter_of_unmet = parents_at(step, at, count, o)
    if not parents then return 'missing', unmet, behind end
    if o.group and awaits_group(step, parents, o.group) then return 'circle', o.group, behind end
  end
  local closed = o.group and groups.why_closed(step, o.group, o.by or '', o.fence)
  if closed then return closed, o.group, behind end
  local on, need, replaced, clock = o.on, o.need, '', clock_of(step, o)
  local has_key = key ~= ''
  if has_key then
    local what, other = unique_keys.ask_for_key(step, id, key, o, delay, parents or {}, step.new_jobs.named,
                                                step.new_jobs.ended)
    if what ~= 'stored' then return what, other, behind end
    replaced = other
    local k = unique_keys.key_of(step, key)
    if k.next_one == id then  -- it awaits the end of the one that has the key
      parents, on, need = parents or {}, 'sfd', count + 1
      parents[need] = {id = k.owner, state = '0'}
    end
  end

  step.new_jobs.mine[id] = record
  local records = step.new_jobs.records
  records[#records + 1] = id
  records[#records + 1] = record
  if not step.new_jobs.is_known[queue] then
    step.new_jobs.is_known[queue], step.new_jobs.queues[#step.new_jobs.queues + 1] = true, queue
  end
  totals.count_jobs(step, queue, 'enqueued', 1)
  local f = {has_children = earlier and earlier.has_children, delay = delay, clock = clock, group = o.group,
             counted = o.group and '-', key = has_key and key or nil, point = has_key and o.point or nil}
  if o.group then groups.add_member(step, o.group, id) end
  flow.change_flow(step, id, f)
  if parents then
    f.parents, f.on, f.unless, f.need, f.is_unmet = parents, on, o.unless, need, false
    for _, parent in ipairs(parents) do
      if parent.state < '3' then
        local its = flow_of(step, parent.id) or {}
        its.has_children = true
        flow.change_flow(step, parent.id, its)
      end
    end
    continuations.put_edges(step, id, f)
  elseif clock and o.start_within then  -- what comes too late is stored as ended
    clock.start_by = math.max(1, step.now + delay + o.start_within)
  end
  local ended_as = place_new(step, id, queue, f, unmet, letter_of_unmet)

  if ended_as or step.new_jobs.ends[id] then step.new_jobs.ends[id] = ended_as or '' end
  if ended_as then
    unique_keys.free_key(step, id, f)  -- now, as when this step is asked for again
    step.new_jobs.ended[#step.new_jobs.ended + 1] = {id, ended_as}
  end
  return 'stored', replaced, behind
end

local why_not_stored = {there = 'another has its id', missing = 'its parent is not in the store: ',
                        no_group = 'there is no group ',
                        circle = 'it would wait for itself, by its group ', sealed = 'this group is sealed: ',
                          cancelled = 'this group was cancelled: ',
                        other_group = 'another has its id, in no group or in ', extended = 'its delay was given to ',
                        own_parent = 'it would take the place of its own parent ',
                        duplicate = 'its unique key is held by ', forgotten = 'its unique key is held by ', refused =
                          'its unique key is held by '}
function flow_jobs.plan_next(step, at, carrier)
  local f = flow_of(step, carrier)
  if f then unique_keys.free_key(step, carrier, f) end  -- it has ended: the next may have its key
  local what, whom = flow_jobs.plan_new(step, at)
  if what == 'stored' then return nil end
  return 'job ' .. step.args[at] .. ', which it carried, was not stored: ' .. why_not_stored[what] ..
         (what == 'there' and '' or whom)
end

function flow_jobs.plan_new_ends(step)
  if #step.new_jobs.ended > 0 then continuations.plan_ends(step, step.new_jobs.ended) end
end

function flow_jobs.write_new(step)
  if #step.new_jobs.records == 0 then return end
  base.say_layout(step)
  call('SADD', step.keys.queues, unpack(step.new_jobs.queues))
  lists.many('HSET', step.keys.jobs, step.new_jobs.records)
end
end
do  -- cancelling.lua

local many = lists.many


function cancelling.asked_among(rows, ids, fences)
  local found, seen = {}, {}
  for i, id in ipairs(ids) do
    local run = rows[i] and match(rows[i], '^%d+ %d+ [57] ') and values.read_run(rows[i])
    if run and run.fence == fences[i] and not seen[id] then
      found[#found + 1] = {id = id, run = run}
      seen[id] = true
    end
  end
  return found
end



function cancelling.end_before_begin(step, asked)
  local ids = {}
  for i, one in ipairs(asked) do ids[i] = one.id end
  local histories, had = many('HMGET', step.keys.history, ids), admissions.admissions_of(step, ids)
  local ended, finals, changed, inline_permits, is_final = {}, {}, {}, {}, {}
  local leaving, entering = lists.grouped(), lists.grouped()
  for i, one in ipairs(asked) do
    local id, run, p = one.id, one.run, values.read_history(histories[i])
    if p then
      local waited = base.int_text(math.max(0, step.now - run.started))
      values.remember(step, p, run.fence, run.attempt, run.started, run.server, values.text('cancelled') ..
                      values.text('') .. waited)
      p.reason, p.attempt = values.reason_of_cancelled(p), run.attempt - 1
      ended[#ended + 1], finals[#finals + 1], is_final[id] = id, {id, 'd'}, true
      if run.permits ~= '' then inline_permits[#ended] = run.permits end
      changed[#changed + 1], changed[#changed + 2] = id, values.write_history(p)
      totals.count_jobs(step, run.queue, 'deleted', 1)
      lists.add_one(leaving, base.sorted(step, places.line(step, 'processing', run.queue)), id)
      lists.add_two(entering, base.sorted(step, places.line(step, 'deleted', run.queue)), step.now_text, id)
    end
  end
  if step.has_flow then continuations.plan_ends(step, finals) end
  totals.keep_totals(step, step.job_counts)
  lists.each_list(entering, 'ZADD')
  lists.each_list(leaving, 'ZREM')
  many('HDEL', step.keys.runs, ended)
  many('HSET', step.keys.history, changed)
  if step.has_flow then continuations.carry_out_ends(step) end
  numbers.keep_number(step)
  waiting.give_back(step, ended, had, inline_permits, is_final)
end
end
do  -- endings.lua

local text = values.text
local line = places.line


function endings.admissions_if_any(step, ids)
  if #ids == 0 or call('HLEN', step.keys.admission) == 0 then return {} end
  return admissions.admissions_of(step, ids)
end
function endings.give_back_if_any(step, ids, had, inline_permits, is_final)
  if next(had) or next(inline_permits) then waiting.give_back(step, ids, had, inline_permits, is_final) end
end


function endings.may_move_to_quarantine(step, queue)
  call('HLEN', step.keys.jobs)
  call('HLEN', step.keys.quarantine)
  call('SCARD', step.keys.queues)
  base.sorted(step, line(step, 'quarantined', queue))
  base.sorted(step, step.keys.agenda)
  call('HLEN', step.keys.flow)
end

function endings.move_to_quarantine(step, id, key, queue)
  local record, before, row = call('HGET', step.keys.jobs, id), call('HGET', step.keys.history, id),
    call('HGET', step.keys.runs, id)
  endings.may_move_to_quarantine(step, queue)
  admissions.check_throttlers(step)
  if key then call('ZREM', key, id) end
  call('HDEL', step.keys.jobs, id)
  call('HDEL', step.keys.history, id)
  call('HDEL', step.keys.runs, id)
  call('HSET', step.keys.quarantine, id, text(record or '') .. text(before or '') .. text(row or ''))
  call('ZADD', line(step, 'quarantined', queue), step.now_text, id)
  call('SADD', step.keys.queues, queue)

  if step.has_flow and call('HEXISTS', step.keys.flow, id) == 1 then
    local owes_it = call('ZSCORE', step.keys.agenda, 'edges s ' .. id) or
      call('ZSCORE', step.keys.agenda, 'edges d ' .. id)
    if not owes_it then call('ZADD', step.keys.agenda, 0, 'edges f ' .. id) end
    hints.has_work(step, '@')
  end
  waiting.forget_job(step, id, row)
end


function endings.place_in_quarantine(step, id, bytes)
  local home = values.queue_of(values.text_at(bytes, 1) or '') or constants.default_queue
  local since = call('ZSCORE', line(step, 'quarantined', home), id)
  if since then return home, since end
  for _, queue in ipairs(call('SMEMBERS', step.keys.queues)) do
    since = call('ZSCORE', line(step, 'quarantined', queue), id)
    if since then return queue, since end
  end
end
end
do  -- new_jobs.lua




local int_text = base.int_text
local many = lists.many
local line = places.line
function new_jobs.store_new(step, at)
  local ids = {}
  for n = 1, #at do ids[n] = step.args[at[n]] end
  local answer = many('HMGET', step.keys.jobs, ids)

  local records, mine, came, queue_list = {}, {}, {}, {}
  local ready, scheduled, earliest = {}, {}, {}  -- by queue: what its lines are given, and the earliest instant
  for n = 1, #ids do
    local id = ids[n]
    local there = mine[id] or answer[n]
    if there and (mine[id] or not places.is_half_stored(step, id, there)) then
      answer[n] = there
    else
      local from, size = at[n], #records
      local queue, delay, record = step.args[from + 1], tonumber(step.args[from + 2]), step.args[from + 3]
      answer[n], mine[id] = '', record
      records[size + 1], records[size + 2] = id, record
      local its = came[queue]
      if not its then
        its = {enqueued = 0}
        came[queue], queue_list[#queue_list + 1] = its, queue
      end
      its.enqueued = its.enqueued + 1
      local kind, of_kind, score = 'ready', ready, nil
      if delay > 0 then
        kind, of_kind, score = 'scheduled', scheduled, step.now + delay
        earliest[queue] = math.min(earliest[queue] or score, score)
      else
        score = numbers.draw(step, 1)
      end
      local list = of_kind[queue]
      if list then
        local last = #list
        list[last + 1], list[last + 2] = int_text(score), id
      else
        call('ZCARD', line(step, kind, queue))
        if delay > 0 then call('ZCARD', step.keys.due) end
        of_kind[queue] = {int_text(score), id}
      end
    end
  end
  if #records == 0 then return answer, false end

  base.say_layout(step)

  call('SADD', step.keys.queues, unpack(queue_list))
  totals.keep_totals(step, came)
  many('HSET', step.keys.jobs, records)
  for n = 1, #queue_list do
    local queue = queue_list[n]
    local now_ready, later = ready[queue], scheduled[queue]
    if now_ready then
      many('ZADD', line(step, 'ready', queue), now_ready)
      hints.has_work(step, queue)
    end
    if later then
      many('ZADD', line(step, 'scheduled', queue), later)
      call('ZADD', step.keys.due, 'LT', int_text(earliest[queue]), queue)
      hints.has_work(step, '@')
    end
  end
  return answer, true
end
end
do  -- claiming.lua














local int_text, sorted = base.int_text, base.sorted
local add_one, many = lists.add_one, lists.many
local text = values.text
local line, types_of = places.line, places.types_of
local max_moved = 1000  -- jobs that one claim looks at and does not take
local max_types = 1000  -- lines of types that a claim asks for by their names in the store, not by those that it knows
local few_at_first = 32  -- are read at once, and while they are large
local small_record = 16384

local function has_waiting_suspect(step, queue, passed)
  return (passed or call('EXISTS', line(step, 'suspect', queue)) == 1) and 1 or 0
end

local function claimed_before(step, server, queue, op)
  local found, ids = {}, call('ZRANGE', line(step, 'processing', queue), 0, -1, 'WITHSCORES')
  for i = 1, #ids, 2 do
    local row = call('HGET', step.keys.runs, ids[i])
    local run = row and values.read_run(row)
    if run and run.server == server and run.op == op then
      found[#found + 1] = {fence = tonumber(run.fence), id = ids[i], until_ = int_text(tonumber(ids[i + 1])), row = row}
    end
  end
  table.sort(found, function(a, b) return a.fence < b.fence end)
  local answer, ids_found, has_already = {'', '', 0, has_waiting_suspect(step, queue), 0, '', 0, ''}, {}, {}
  for i, f in ipairs(found) do ids_found[i] = f.id end
  local had = endings.admissions_if_any(step, ids_found)
  for i, f in ipairs(found) do
    local n, a = #answer, had[f.id]
    if a then has_already[#has_already + 1] = admissions.permits_told(i, a.held, a.slots) end
    answer[n + 1], answer[n + 2], answer[n + 5] = f.id, f.until_, f.row
    answer[n + 3], answer[n + 4] = call('HGET', step.keys.jobs, f.id) or '',
      call('HGET', step.keys.history, f.id) or ''
  end
  answer[2] = table.concat(has_already)
  if step.has_flow then answer[8] = continuations.times_left(step, ids_found) end
  return answer
end



local none = {}
local function append(c, name, value)
  if c[name] == none then c[name] = {} end
  local list = c[name]
  list[#list + 1] = value
end


local function read_plan(c, args, place)
  local plan = {kind = args[place], may_wait = args[place + 1] == '1', chain_size = tonumber(args[place + 2]),
                wants_turn = args[place + 3] == '1', growing = {}, wants = {}, row = '', let_in = 0, roomy = 0}
  for i = 1, args[place + 4] do
    plan.growing[i] = {fence = args[place + 3 + 2 * i], by = tonumber(args[place + 4 + 2 * i])}
  end
  local resources_at = place + 5 + 2 * #plan.growing
  for i = 1, args[resources_at] do
    local resource = args[resources_at + i]
    plan.wants[i] = resource
    plan.row = plan.row .. text(resource)
    c.types_wanting[resource] = (c.types_wanting[resource] or 0) + 1
  end
  plan.row = text(plan.row)
  c.plans[plan.kind], c.in_order[#c.in_order + 1] = plan, plan
  return resources_at + 1 + #plan.wants
end
local function begin_claim(args, at, plans_at)
  local c = {server = args[at], queue = args[at + 1], op = args[at + 3], free = tonumber(args[at + 4]),
             most = args[at + 4] + args[at + 5], allow_suspect = args[at + 6] == '1', lease = args[at + 7],
             known = {}, starts_at_once = none,  -- types, by name
             plans = none, in_order = none, types_wanting = none,  -- by type, in order, and how many by resource

             ids = {}, records = {}, histories = {}, attempts = {}, permits = {}, has = {}, bytes = 0,
             used = 0,  -- of `most`: who follows in a chain needs no worker of its own
             just_woken = 0,
             leaving = lists.grouped(), aside = none, broken = none, strays = none, parks = none,
             over = none,     -- those that end in place of their start
             misplaced = 0,   -- how many stood in a line of their own, too
             had = none,      -- by id: what it has of throttlers
             rooms = none,    -- by resource
             chains = none,   -- of each the places of its runs, and its name or resource
             skipped = none,  -- by resource: how many were taken from its line
             looked = 0, slice = few_at_first}
  local at_once_at = at + 9 + args[at + 8]
  for i = at + 9, at_once_at - 1 do c.known[args[i]] = true end
  if at_once_at + 1 < plans_at then c.starts_at_once = {} end
  for i = at_once_at + 1, plans_at - 1 do c.starts_at_once[args[i]] = true end
  if args[plans_at] ~= '0' then c.plans, c.in_order, c.types_wanting, c.rooms = {}, {}, {}, {} end
  local place = plans_at + 1
  for _ = 1, args[plans_at] do place = read_plan(c, args, place) end
  return c
end

local function rooms_for(step, c, plan)
  local found = {}
  for i, resource in ipairs(plan.wants) do
    c.rooms[resource] = c.rooms[resource] or waiting.room_of(step, resource)
    found[i] = c.rooms[resource]
    if not found[i].limit then return {} end  -- who claims it will be told so
  end
  return found
end


local function look_at(step, c, plan)
  plan.rooms = plan.rooms or rooms_for(step, c, plan)
  local busy, roomy, alone = nil, max_moved, true
  for i, room in ipairs(plan.rooms) do
    if plan.counted then room.held = room.held + plan.let_in - plan.counted end
    if room.waited_for or room.held >= room.limit then busy = busy or plan.wants[i] end
    roomy = room.waited_for and 0 or math.min(roomy, math.floor(room.limit / 2) - room.held)
    alone = alone and c.types_wanting[plan.wants[i]] == 1
  end
  plan.counted = plan.let_in
  if alone and #plan.rooms > 0 then plan.roomy = math.max(0, roomy) end
  return busy, roomy > 0
end

function claiming.has_space_for(c, record, before_it)
  local size = #record + #(before_it or '')
  if #c.ids > 0 and c.bytes + size > constants.max_answer_bytes then return false end
  c.bytes = c.bytes + size
  return true
end
function claiming.take(c, id, record, before_it, attempt, key)
  local n = #c.ids + 1
  c.ids[n], c.records[n], c.histories[n], c.attempts[n], c.permits[n] = id, record, before_it or '', attempt + 1, '0:'
  c.has[n] = (before_it and 1 or 0) + (c.had[id] and 2 or 0)
  add_one(c.leaving, key, id)
  return n
end


local function is_passed_by(step, c, id, kind, attempt, losses, from)
  if not kind then
    append(c, 'broken', {id, from.key})
    return true
  end
  if step.has_flow and continuations.must_not_start(step, id, {attempt = attempt, losses = losses}, c.over) then
    return true
  end
  if places.is_suspect(losses) and not c.allow_suspect then
    c.passed_suspect = true

    if from.of_new or from.of_woken then append(c, 'strays', {id, from.key}) end
    return true
  end
  if c.known[kind] then return false end
  if not from.of_type then append(c, 'aside', {id, kind, from.key}) end
  return true
end

local function park(step, c, id, resource, key)
  sorted(step, keys.wait_line(step, c.queue, resource))
  append(c, 'parks', {id = id, resource = resource})
  c.is_full = #c.parks >= constants.max_parked
  add_one(c.leaving, key, id)
end

local function take_or_park(step, c, id, record, before_it, kind, attempt, is_suspect, from)
  local plan, busy, roomy = c.plans[kind], nil, true
  local waited = plan and c.had[id]
  if waited then roomy = false
  elseif plan and plan.roomy == 0 then busy, roomy = look_at(step, c, plan) end
  if waited and plan.chain_size > 0 and chaining.is_left_to_another(step, c.queue, plan.wants[1], c.server) then
    c.is_left, plan.turn = true, 'left'
    return
  end
  if (is_suspect or c.starts_at_once[kind] or not roomy) and c.used >= c.free then
    c.is_full = true  -- it and those behind it wait for a free worker: the order of the line holds
    return
  end
  if busy and plan.may_wait then return park(step, c, id, busy, from.key) end
  if not claiming.has_space_for(c, record, before_it) then
    c.is_cut, c.is_full = true, true
    return
  end
  if is_suspect then c.allow_suspect = false end
  if step.woken > 0 and step.woken_now[id] then c.just_woken = c.just_woken + 1 end
  c.used = c.used + 1
  c.first_key, c.first_id = c.first_key or from.key, c.first_id or id
  local n = claiming.take(c, id, record, before_it, attempt, from.key)
  if waited and plan.chain_size > 0 then plan.turn = 'taken' end
  if waited and plan.chain_size > 1 and not is_suspect then chaining.begin_chain(step, c, plan, id, n) end
  if plan and not waited and not busy and plan.rooms[1] then
    c.permits[n] = plan.row
    plan.let_in = plan.let_in + 1
    if plan.roomy > 0 then plan.roomy = plan.roomy - 1 else look_at(step, c, plan) end
  end
end
local function consider(step, c, id, record, before_it, from)
  local kind, its_queue
  if record then kind, its_queue = values.names_of(record) end

  if kind and (its_queue ~= c.queue or from.of_type and from.of_type ~= kind) then
    if places.place_at_home(step, id, record) then
      c.misplaced = c.misplaced + 1
      return add_one(c.leaving, from.key, id)
    end
    kind = nil
  end
  local attempt, losses = 0, 0
  if before_it then
    local p = values.read_history(before_it)
    if p then attempt, losses = p.attempt, p.losses else kind = nil end
  end
  if is_passed_by(step, c, id, kind, attempt, losses, from) then return end
  take_or_park(step, c, id, record, before_it, kind, attempt, places.is_suspect(losses), from)
end


local function first_of(step, c, lines, count)
  local found, from = {}, {}
  if #lines == 1 then
    local only = lines[1]
    found = call('ZRANGE', only.key, only.seen, only.seen + count - 1)
    step.is_sorted[only.key] = true
    for i = 1, #found do from[i] = only end
    return found, from
  end
  local all = {}
  for _, l in ipairs(lines) do
    if not l.suspects or c.allow_suspect then
      local rows = call('ZRANGE', l.key, l.seen, l.seen + count - 1, 'WITHSCORES')
      step.is_sorted[l.key] = true
      for i = 1, #rows, 2 do all[#all + 1] = {rows[i], tonumber(rows[i + 1]), l} end
    end
  end
  table.sort(all, function(a, b) return a[2] < b[2] end)
  for i = 1, math.min(#all, count) do found[i], from[i] = all[i][1], all[i][3] end
  return found, from
end

local function read_admissions(step, c, found, histories, from)
  local may_have = none
  for i, id in ipairs(found) do
    if histories[i] or not from[i].of_new then
      if may_have == none then may_have = {} end
      may_have[#may_have + 1] = id
    end
  end
  if may_have == none then return end
  if c.had == none then c.had = {} end
  for id, a in pairs(endings.admissions_if_any(step, may_have)) do c.had[id] = a end
end
local function drain(step, c, lines)
  while not c.is_full and c.used < c.most and c.looked - #c.ids < max_moved do
    local count = math.min(c.most - c.used, c.slice)
    local found, from = first_of(step, c, lines, count)
    if #found == 0 then return end
    local records, histories = many('HMGET', step.keys.jobs, found), many('HMGET', step.keys.history, found)
    local read = 0
    for i = 1, #found do read = read + #(records[i] or '') end
    c.slice = read < #found * small_record and max_moved or few_at_first
    read_admissions(step, c, found, histories, from)
    if step.has_flow then flow.read_flows(step, found) end
    for i, id in ipairs(found) do
      if c.is_full then return end
      from[i].seen = from[i].seen + 1
      c.looked = c.looked + 1
      consider(step, c, id, records[i], histories[i], from[i])
    end
    if #found < count then return end
  end
end

local function other_lines(step, c)
  local lines = {{key = line(step, 'ready', c.queue), seen = 0, of_new = true}}
  if c.allow_suspect and call('EXISTS', line(step, 'suspect', c.queue)) == 1 then
    lines[2] = {key = line(step, 'suspect', c.queue), seen = 0, suspects = true}
  end
  local function add_type(name)
    lines[#lines + 1] = {key = places.type_line(step, c.queue, name), seen = 0, of_type = name}
  end
  local types = types_of(step, c.queue)
  local count = call('SCARD', types)
  if count > max_types then
    for name in pairs(c.known) do
      if call('SISMEMBER', types, name) == 1 then add_type(name) end
    end
  elseif count > 0 then
    for _, name in ipairs(call('SMEMBERS', types)) do
      if c.known[name] then add_type(name) end
    end
  end
  return lines
end

local function choose(step, c)
  if step.has_flow then c.over = {} end
  for _, plan in ipairs(c.in_order) do
    for _, chain in ipairs(plan.growing) do chaining.grow(step, c, plan, chain.fence, chain.by) end
  end
  drain(step, c, {{key = line(step, 'front', c.queue), seen = 0, of_woken = true}})
  if not c.is_full and c.used < c.most then drain(step, c, other_lines(step, c)) end
end


local function look_before_writing(step, c)
  for _, a in pairs(c.had) do

    for _, resource in ipairs(a.held) do call('HLEN', keys.holders(step, resource)) end
  end
  if next(c.plans) then chaining.check_turns(step) end

  if #c.over > 0 and c.looked - #c.ids >= max_moved then hints.has_work(step, c.queue) end
  sorted(step, line(step, 'processing', c.queue))
  if #c.broken > 0 then endings.may_move_to_quarantine(step, c.queue) end
  sorted(step, step.keys.ending)
  if #c.parks > 0 then sorted(step, line(step, 'throttled', c.queue)) end
  local entering, new_types = lists.grouped(), {}
  if #c.aside > 0 then
    hints.has_work(step, c.queue)  -- for who knows their types
    call('SCARD', types_of(step, c.queue))
  end
  for _, a in ipairs(c.aside) do
    lists.add_two(entering, sorted(step, places.type_line(step, c.queue, a[2])),
                  int_text(tonumber(call('ZSCORE', a[3], a[1]))), a[1])
    add_one(c.leaving, a[3], a[1])
    new_types[#new_types + 1] = a[2]
  end
  for _, s in ipairs(c.strays) do
    lists.add_two(entering, sorted(step, line(step, 'suspect', c.queue)), call('ZSCORE', s[2], s[1]), s[1])
    add_one(c.leaving, s[2], s[1])
  end
  return entering, new_types
end
local function move(step, c)
  local entering, new_types = look_before_writing(step, c)
  if c.first_id then c.ready_at = tonumber(call('ZSCORE', c.first_key, c.first_id)) end
  if step.has_flow then
    continuations.plan_ends(step, c.over)
    continuations.plan_starts(step, c.ids)
    totals.keep_totals(step, step.job_counts)
  end
  lists.each_list(c.leaving, 'ZREM')
  lists.each_list(entering, 'ZADD')
  many('SADD', types_of(step, c.queue), new_types)
  for _, b in ipairs(c.broken) do endings.move_to_quarantine(step, b[1], b[2], c.queue) end
  if step.has_flow then continuations.carry_out_ends(step) end
  if c.just_woken == 0 then return end
  step.woken = step.woken - c.just_woken  -- nobody else need come for these
  step.woken_in[c.queue] = (step.woken_in[c.queue] or 0) - c.just_woken
end

local function start(step, c, fence, mark, answer)
  local rows, leases, answered = {}, {}, #answer
  chaining.name_chains(c, fence)
  local until_ = int_text(step.now + c.lease)
  local rest = ' ' .. step.now_text .. ' ' .. c.lease .. ' 0 ' .. c.op .. ' ' .. text(c.queue)
  for i, id in ipairs(c.ids) do
    local row = int_text(fence + i - 1) .. ' ' .. values.digits(c.attempts[i]) .. ' ' .. values.digits(c.has[i]) ..
                rest .. c.permits[i] .. c.server
    rows[2 * i - 1], rows[2 * i] = id, row
    leases[2 * i - 1], leases[2 * i] = until_, id
    answer[answered + 1], answer[answered + 2], answer[answered + 3] = id, until_, c.records[i]
    answer[answered + 4], answer[answered + 5] = c.histories[i], row
    answered = answered + 5
  end
  many('HSET', step.keys.runs, rows)
  many('ZADD', line(step, 'processing', c.queue), leases)
  call('ZADD', step.keys.ending, 'LT', until_, c.queue)
  call('HSET', step.keys.claims, mark, c.op)
  for _, plan in pairs(c.plans) do
    if plan.let_in > 0 then
      look_at(step, c, plan)
      for _, resource in ipairs(plan.wants) do admissions.count_claimed(step, resource, plan.let_in) end
    end
  end
  chaining.write_chains(step, c)
  if next(c.had) then answer[2] = admissions.admit_claimed(step, c.ids, c.had, fence) end
end

local function pass_on_to_overtaken(step, c)
  if c.rooms == none then return end
  local overtaken = {}
  for resource, room in pairs(c.rooms) do
    local was_held = #c.over > 0  -- by one of these
    if room.limit and (was_held or room.waited_for and room.held < room.limit) then
      overtaken[#overtaken + 1] = resource
    end
  end
  if #overtaken > 1 then table.sort(overtaken, lists.by_bytes) end
  for _, resource in ipairs(overtaken) do waiting.pass_on(step, resource) end
end
local function answer_of(step, c)
  return {'', '', #c.parks, has_waiting_suspect(step, c.queue, c.passed_suspect), c.is_cut and 1 or 0,
          c.ready_at and int_text(math.max(0, math.min(step.now - c.ready_at, base.longest))) or '',
          c.is_left and 1 or 0, step.has_flow and continuations.times_left(step, c.ids) or ''}
end

function claiming.claim(step, at)
  local args = step.args
  local server, queue, slot, op = args[at], args[at + 1], args[at + 2], args[at + 3]
  if args[at + 4] + args[at + 5] == 0 then return {''} end
  local mark = slot .. ' ' .. text(queue) .. server
  local before = call('HGET', step.keys.claims, mark)
  local is_asked_again = before and (tonumber(before) or 0) >= tonumber(op)
  if not is_asked_again then numbers.may_draw(step) end
  places.mark_served(step, queue)
  if is_asked_again then return claimed_before(step, server, queue, op) end
  call('SADD', step.keys.queues, queue)
  if call('SISMEMBER', step.keys.paused, queue) == 1 then return {''} end

  local at_once_at = at + 9 + args[at + 8]
  local plans_at = at_once_at + 1 + args[at_once_at]

  if args[plans_at] == '0' and call('EXISTS', line(step, 'front', queue), line(step, 'ready', queue),
                                    line(step, 'suspect', queue), types_of(step, queue)) == 0 then
    return {'', '', 0, 0, 0, '', 0, ''}
  end
  local c = begin_claim(args, at, plans_at)
  choose(step, c)
  if #c.ids + #c.aside + #c.broken + #c.strays + #c.parks + #c.over + c.misplaced == 0 then
    chaining.change_turns(step, c)
    return answer_of(step, c)
  end
  move(step, c)

  local fence = #c.ids > 0 and numbers.draw(step, #c.ids)
  if #c.parks > 0 then waiting.park_fresh(step, queue, c.parks) end
  chaining.change_turns(step, c)
  for resource in pairs(c.skipped) do waiting.close_empty_line(step, resource, queue) end
  local answer = answer_of(step, c)
  if #c.ids > 0 then start(step, c, fence, mark, answer) end
  pass_on_to_overtaken(step, c)
  return answer
end
end
do  -- gone_servers.lua

function gone_servers.forget_claims(step, gone)
  for _, mark in ipairs(call('HKEYS', step.keys.claims)) do
    local _, at = values.text_at(mark, match(mark, '^%d+ ()') or 1)
    if at and gone[sub(mark, at)] then call('HDEL', step.keys.claims, mark) end
  end
end
end
do  -- limiter_records.lua


local max_lines = 1000
function limiter_records.limiter_record(step, name)
  local stored = call('HGET', step.keys.limiters, name) or ''
  local version, from = match(stored, '^(%d+) ()')
  local view = {version or '0', from and values.text_at(stored, from) or '', step.now_text,
                call('HGET', step.keys.definitions, name) or '', {}}
  local lines = view[5]
  local function add(resource)
    local n = 0
    for _, queue in ipairs(call('SMEMBERS', keys.waits(step, resource))) do
      if waiting.queue_runs(step, queue) then n = n + call('ZCARD', keys.wait_line(step, queue, resource)) end
    end
    if n > 0 then lines[#lines + 1], lines[#lines + 2] = resource, n end
  end
  add(name)
  local behind = '[' .. name .. '/'
  while #lines < 2 * max_lines do

    local some = call('ZRANGE', step.keys.waiting, behind, '(' .. name .. '0', 'BYLEX', 'LIMIT', 0, max_lines)
    for _, resource in ipairs(some) do
      if #lines < 2 * max_lines then add(resource) end
    end
    local last = some[#some]

    if #some < max_lines or not lists.by_bytes(sub(behind, 2), last) then break end
    behind = '(' .. last
  end
  return view
end
end
do  -- throttler_views.lua

local int_text = base.int_text
function throttler_views.about(step, resource)
  local n = 0
  for _, queue in ipairs(call('SMEMBERS', keys.waits(step, resource))) do
    n = n + call('ZCARD', keys.wait_line(step, queue, resource))
  end
  local next_check = call('ZSCORE', step.keys.next_checks, resource)
  return {resource, call('HGET', step.keys.definitions, resource) or '', admissions.held_of(step, resource), n,
          next_check and int_text(tonumber(next_check)) or ''}
end



function throttler_views.all_holders(step, resource)
  local held = {}
  local function add(id, kind, fence, since)
    held[#held + 1] = {id = id, is_reserved = kind == 'reserved' and '1' or '0', fence = tonumber(fence or '0'),
                       since = tonumber(since or '0')}
  end
  local rows = call('HGETALL', keys.holders(step, resource))
  for i = 1, #rows, 2 do add(rows[i], match(rows[i + 1], '^(%a+) (%d+) (%d+)$')) end
  if call('HEXISTS', step.keys.claim_permits, resource) == 1 then
    local chains = {}  -- of each the first that goes on
    for _, its in ipairs(places.all_runs(step)) do
      local run = values.read_run(its.row)
      for _, name in ipairs(run and admissions.permits_in(step, run.permits) or {}) do
        local first = chains[name]
        if name == resource then add(its.id, 'held', run.fence, run.started)
        elseif admissions.permit_of(name) == resource and not (first and
                                                               tonumber(first.fence) < tonumber(run.fence)) then
          chains[name] = {id = its.id, fence = run.fence, started = run.started}
        end
      end
    end
    for _, run in pairs(chains) do add(run.id, 'held', run.fence, run.started) end
  end
  table.sort(held, function(a, b)
    if a.since ~= b.since then return a.since < b.since end
    if a.fence ~= b.fence then return a.fence < b.fence end
    return lists.by_bytes(a.id, b.id)
  end)
  return held
end



function throttler_views.line_behind(step, resource, most, number, id)
  local in_queues, pages, found = call('SMEMBERS', keys.waits(step, resource)), {}, {}
  for _, queue in ipairs(in_queues) do
    pages[#pages + 1] = paging.page(keys.wait_line(step, queue, resource), false, '-inf', '+inf', number, id, most,
                                    #in_queues)
  end
  pages = paging.merged(pages)
  while #pages > 0 and #found < most do
    found[#found + 1] = {id = pages[1].id, number = paging.exact(pages[1].score)}
    paging.go_on(pages)
  end
  return found
end



function throttler_views.throttler_view(step, resource, limit)
  local first, waiters = {}, {}
  for i, h in ipairs(throttler_views.all_holders(step, resource)) do
    if i > limit then break end
    local n = #first
    first[n + 1], first[n + 2], first[n + 3], first[n + 4] = h.id, int_text(h.fence), h.is_reserved, int_text(h.since)
  end
  for i, w in ipairs(throttler_views.line_behind(step, resource, limit)) do waiters[i] = w.id end
  local stored = call('HGET', step.keys.limiters, admissions.limiter_of(resource)) or ''
  local from = match(stored, '^%d+ ()')
  return {throttler_views.about(step, resource), first, waiters, from and values.text_at(stored, from) or ''}
end
end
do  -- schedule_views.lua



function schedule_views.read_schedule(value)
  local version, n, at = match(value, '^(%d+) (%d+) ()')
  if not version then return nil end
  local record, behind = values.text_at(value, at)
  return behind and {version = version, n = tonumber(n), record = record, runs = sub(value, behind)}
end

function schedule_views.first_run(runs)
  local id, at = values.text_at(runs, 1)
  local behind = at and match(runs, '^%d+ ()', at)
  if behind then return id, sub(runs, behind) end
end

function schedule_views.schedule_of(step, name)
  local value = call('HGET', step.keys.schedules, name)
  if not value then return nil end
  return schedule_views.read_schedule(value) or {version = '0', n = 0, record = value, runs = ''}
end


function schedule_views.schedule_view(step, name)
  local s = schedule_views.schedule_of(step, name) or {version = '0', record = '', runs = ''}
  local at = call('ZSCORE', step.keys.firing, name)
  return {name, s.version, s.record, at and base.int_text(tonumber(at)) or '',
          call('HGET', step.keys.even_places, name) or '', s.runs}
end
end
do  -- mending.lua



local after, members = keys.after, keys.members
local line = places.line
local flow_of = flow.flow_of
local key_of = unique_keys.key_of
local group_of = groups.group_of
local end_of = continuations.end_of



function fresh.findings() return {} end
function fresh.mends_for() return {} end
function mending.wrong(step, ...) step.findings[#step.findings + 1] = table.concat({...}) end
local function mendable(step, mend, ...)
  mending.wrong(step, ...)
  step.mends_for[#step.findings] = mend
end
function mending.is_final_kind(kind)
  for _, final in ipairs(places.final_kinds) do
    if kind == final then return true end
  end
  return false
end

function mending.is_gone_or_final(step, id)
  local record = call('HGET', step.keys.jobs, id)
  local at = record and places.place_at_home(step, id, record)
  return not record or at and mending.is_final_kind(at.kind)
end
function mending.is_instant(score) return score >= 0 and score < 2 ^ 53 and score % 1 == 0 end


local function is_owed(step, what, id)
  for _, letter in ipairs(flow.ways_to_end) do
    if call('ZSCORE', step.keys.agenda, what .. ' ' .. letter .. ' ' .. id) then return true end
  end
  return false
end
function mending.stands_in_agenda(step, what, id) return call('ZSCORE', step.keys.agenda, what .. ' - ' .. id) end
local function has_mark(step, why)
  if not step.has_flow then mendable(step, {'mark'}, step.keys.flow_mark, ' is not there, and ', why) end
end


local check = {}


function check.member(step, id, f, how)
  local score = call('ZSCORE', members(step, f.group), id)
  local function amiss(...) mendable(step, {'member', id}, 'job ', id, ...) end
  if not group_of(step, f.group) then return amiss(' is in group ', f.group, ', which does not exist') end
  local is_open = f.counted == '-'
  local is_as_counted = is_open and (score == '0' or score == '4') or not is_open and
    score == groups.member_scores[f.counted]
  if not score or not is_as_counted then
    amiss(' is not among the members of ', f.group, ' as it should be')
  end
  if is_open and how ~= '' and not is_owed(step, 'edges', id) then amiss(' has ended and counts as open in ', f.group)
  elseif not is_open and how == '' then amiss(' has not ended and does not count as open in ', f.group) end
end


function check.key(step, id, f, how)
  local k = key_of(step, f.key)
  local is_its = k and (k.owner == id or k.next_one == id)
  local was_claimed = f.point == 's' and
                      call('HEXISTS', step.keys.runs, id) + call('HEXISTS', step.keys.history,
                                                                             id) + call('HEXISTS',
                                                                                              step.keys.admission,
                                                                                                id) > 0
  if how == '' and (f.point == 'e' and not is_its or f.point == 's' and not k and not was_claimed) then
    mendable(step, {'own_key', id}, 'job ', id, ' does not have its key ', f.key)
  elseif f.point ~= 'p' and how ~= '' and is_its and not is_owed(step, 'edges', id) then
    mendable(step, {'holder', f.key, id}, 'job ', id, ' has ended and has its key ', f.key)
  end
end

function check.clock(step, id, f, how)
  local p = values.read_history(call('HGET', step.keys.history, id))
  if how ~= '' or not p or call('HEXISTS', step.keys.runs, id) == 1 then return end
  if clocks.next_over(f.clock, clocks.has_begun(p)) and not mending.stands_in_agenda(step, 'expire', id) then
    mendable(step, {'clock', id}, 'job ', id, ' has a time to be over, and nobody looks at it')
  end
end

function check.parent(step, id, f, parent)
  local score = tonumber(call('ZSCORE', after(step, parent.id), id) or '-2')
  local its_end = end_of(step, parent.id, {})

  local is_forgotten = parent.state >= '3' or its_end == 'missing' or f.is_unmet and score == -2
  if not is_forgotten and score ~= tonumber(continuations.edge_score(f, parent)) then
    mendable(step, {'edge', id, parent.id}, 'job ', id, ' is not among the children of ', parent.id, ' as it should be')
  end
  if parent.state ~= '0' then return end
  local g = groups.group_in(parent.id) and group_of(step, groups.group_in(parent.id))
  if g and f.on == 'e' and g.f > 0 then its_end = 'e' end
  local is_told_later = g and its_end ~= 'e' and g.ended == 0  -- by the rules of groups
  if its_end == 'missing' then
    mendable(step, {'lost_parent', id, parent.id}, 'job ', id, ' waits for ', parent.id, ', which does not exist')
  elseif its_end ~= '' and not is_told_later and not is_owed(step, 'edges', parent.id) then
    local member = 'edges ' .. its_end .. ' ' .. parent.id
    mendable(step, {'owe', member}, 'job ', id, ' waits for ', parent.id, ', which has ended')
  end
end

local agenda_words = {edges = true, again = true, expire = true, key = true, seal = true, cancel = true, forget = true}


local look = {}
mending.look = look

function look.flow(step, id, value)
  local f = flow.read_flow(value)
  if not f or flow.write_flow(f) ~= value then
    return mendable(step, {'row', id}, 'what job ', id, ' has to do with others cannot be read')
  end
  has_mark(step, 'jobs wait for others')
  local how = end_of(step, id, {})
  if how == 'missing' then
    return mendable(step, {'lost', id}, 'there is something of others for job ', id, ', which does not exist')
  end
  if f.has_children and call('EXISTS', after(step, id)) == 0 then
    mendable(step, {'no_children', id}, 'job ', id, ' is said to have children and has none')
  end
  if f.group then check.member(step, id, f, how) end
  if f.key then check.key(step, id, f, how) end
  if f.clock then check.clock(step, id, f, how) end
  for _, parent in ipairs(f.parents or {}) do check.parent(step, id, f, parent) end
end
function look.after(step, child)
  local parent = sub(step.args[4], #after(step, '') + 1)
  local f, its, names = flow_of(step, child), flow_of(step, parent), false
  for _, one in ipairs(f and f.parents or {}) do names = names or one.id == parent end
  if not names then
    mendable(step, {'child', parent, child}, 'job ', child, ' is among the children of ', parent,
             ' and does not name it')
  end
  if not (its and its.has_children) then
    mendable(step, {'children', parent}, 'job ', parent, ' has children and is not said to have any')
  end
end

function look.agenda(step, member, at)
  local what, id = match(member, '^(%l+) [sfde-] (.+)$')
  local k = what == 'key' and key_of(step, id)
  local function idle(...) mendable(step, {'owe_no_more', member}, ...) end
  if not (what and agenda_words[what]) then idle('what is still to be done of ', member, ' cannot be read')
  elseif what == 'key' and not (k and k.point == 'p') then
    idle('the end of a period is to be looked at of key ', id, ', which has none')
  elseif what ~= 'key' and end_of(step, id, {}) == 'missing' then
    idle('something is still to be done of job ', id, ', which does not exist')
  elseif not mending.is_instant(tonumber(at)) then
    local whom = what == 'key' and 'key ' or 'job '
    mendable(step, {'instant', member}, 'what is to be done of ', whom, id, ' is to be done at no instant')
  end
  has_mark(step, 'something is still to be done')
end

function look.held_keys(step, key_text, value)
  local k = key_of(step, key_text)
  if not k or unique_keys.write_key(k) ~= value then
    return mendable(step, {'key', key_text}, 'who has key ', key_text, ' cannot be read')
  end
  if k.point == 'p' then
    if not mending.stands_in_agenda(step, 'key', key_text) then
      mendable(step, {'period', key_text}, 'key ', key_text, ' is held for a period, and nobody looks at its end')
    end
    return
  end
  for _, id in ipairs(k.next_one ~= '' and {k.owner, k.next_one} or {k.owner}) do
    local f, how = flow_of(step, id), end_of(step, id, {})
    if not f or f.key ~= key_text then
      mendable(step, {'holder', key_text, id}, 'job ', id, ' has key ', key_text, ' and does not know of it')
    elseif how ~= '' and not is_owed(step, 'edges', id) then
      mendable(step, {'holder', key_text, id}, 'job ', id, ' has key ', key_text, ', and has ended')
    end
  end
end

function look.groups(step, name, value)
  local g = group_of(step, name)
  local function amiss(...) mendable(step, {'group', name}, 'group ', name, ...) end
  if not g or groups.write_group(g) ~= value then return amiss(' cannot be read') end
  local function count(score) return call('ZCOUNT', members(step, name), score, score) end
  local open = count(0) + count(4)
  if g.open ~= open then amiss(' has ', open, ' open members and counts ', g.open) end
  if g.s < count(1) or g.f < count(2) or g.d < count(3) then amiss(' has more members than it counts') end
  if groups.is_finished(g) ~= (g.ended > 0) then amiss(' does not say rightly whether it has ended') end
  local node = groups.node_of(name)
  if g.state == 'o' and not mending.stands_in_agenda(step, 'seal',
                                                     node) then amiss(' is not sealed, and nobody looks at that')
  elseif g.state == 'c' and count(0) > 0 and not mending.stands_in_agenda(step, 'cancel', node) then
    amiss(' was cancelled, and nobody ends its members')
  elseif groups.is_finished(g) and not mending.stands_in_agenda(step, 'forget', node) then
    amiss(' has ended, and nobody forgets it')
  end
end
function look.members(step, id)
  local name = sub(step.args[4], #members(step, '') + 1)
  local f = flow_of(step, id)
  if not (f and f.group == name) then
    mendable(step, {'membership', name, id}, 'job ', id, ' is among the members of ', name, ' and does not know of it')
  end
end


function look.awaiting(step, id)
  local record = call('HGET', step.keys.jobs, id)
  local queue = record and values.queue_of(record)
  if not queue or line(step, 'awaiting', queue) ~= step.args[4] then return end  -- told of with the lines
  for _, kind in ipairs(places.line_kinds) do
    if kind ~= 'awaiting' and call('ZSCORE', line(step, kind, queue), id) then return end
  end
  local f = flow_of(step, id)
  if not (f and f.parents and not f.is_unmet) then
    return mendable(step, {'place', id}, 'job ', id, ' is awaiting and names no parents')
  end
  local is_met, is_unmet = continuations.verdict_on(f)
  if f.unless == 'u' then
    mendable(step, {'place', id}, 'job ', id, ' is awaiting, and not all of its parents are known')
  elseif is_met or is_unmet and f.unless ~= 'k' then
    mendable(step, {'place', id}, 'job ', id, ' is awaiting, and its parents have ended')
  end
end

function look.queues(step, queue)
  local first, told = call('ZRANGE', line(step, 'scheduled', queue), 0, 0, 'WITHSCORES')[2],
    call('ZSCORE', step.keys.due, queue)
  if first and not (told and tonumber(told) == tonumber(first)) then
    mendable(step, {'due', queue}, 'queue ', queue, ' has due jobs that nobody looks at')
  elseif told and not first then
    mendable(step, {'due', queue}, 'queue ', queue, ' is listed as due and has nothing scheduled')
  end
  first, told = call('ZRANGE', line(step, 'processing', queue), 0, 0, 'WITHSCORES')[2],
    call('ZSCORE', step.keys.ending, queue)
  if first and (not told or tonumber(told) > tonumber(first)) then
    mendable(step, {'leases', queue, first}, 'queue ', queue, ' has leases that nobody looks at')
  end
end


local look_at_one = {}


function look_at_one.unplaced(step, id)
  local record = call('HGET', step.keys.jobs, id)
  if record and values.queue_of(record) and not places.place_at_home(step, id, record) then
    mendable(step, {'unplaced', id}, 'job ', id, ' is in no line')
  end
end

function look_at_one.permit(step, entry)
  local resource, at = values.text_at(entry, 1)
  local id = sub(entry, at)
  local value = call('HGET', keys.holders(step, resource), id)
  if not value or not mending.is_gone_or_final(step, id) then return end
  local words = call('HEXISTS', step.keys.jobs, id) == 0 and ', which does not exist' or ' as ' .. value ..
    ', which it has no right to'
  mendable(step, {'permit', entry}, resource, ' is held by job ', id, words)
end
function look_at_one.count(step, resource)
  local said, found = call('HGET', step.keys.claim_permits, resource), admissions.claims_of(step, resource)
  if not said or said == base.int_text(found) then return end
  mendable(step, {'count', resource}, resource, ' is counted as held by the claims of ', said, ' runs, and ', found,
           ' have it')
end


function mending.look_through(step, scan)
  if look_at_one[step.args[3]] then
    look_at_one[step.args[3]](step, step.args[4])
    return '0'
  end
  local slice = call(scan, step.args[4], step.args[5], 'COUNT', step.args[6])
  for i = 1, #slice[2], scan == 'SSCAN' and 1 or 2 do look[step.args[3]](step, slice[2][i], slice[2][i + 1]) end
  return slice[1]
end
end
do  -- auditing.lua

local holders, wait_line, waits = keys.holders, keys.wait_line, keys.waits
local read_run, text_at = values.read_run, values.text_at
local line, line_kinds = places.line, places.line_kinds
local read_totals = totals.read_totals
local reservation = admissions.reservation
local is_instant, look, wrong = mending.is_instant, mending.look, mending.wrong
function fresh.besides() return {} end
local function look_besides(step, kind, at)
  step.besides[#step.besides + 1], step.besides[#step.besides + 2] = kind, at
end


local function was_drawn(step, n) return tonumber(n) <= step.last_number end
local function is_place(step, score) return score >= 1 and score % 1 == 0 and was_drawn(step, score) end


local function are_texts(s, n)
  local at, found = 1, 0
  while at and at <= #s do
    local _, behind = text_at(s, at)
    at, found = behind, found + 1
  end
  return at and found == (n or found)
end



local function kinds_of(step, id, record, queue)
  local kinds, scores = {}, {}
  local function look_in(kind, its)
    local score = call('ZSCORE', its, id)
    if score then kinds[#kinds + 1], scores[#scores + 1] = kind, tonumber(score) end
  end
  for _, kind in ipairs(line_kinds) do look_in(kind, line(step, kind, queue)) end
  local its_type = values.type_of(record)
  look_in('type:' .. its_type, places.type_line(step, queue, its_type))
  return kinds, scores
end


local function admission_in(step, id)
  local value = call('HGET', step.keys.admission, id)
  if not value then return admissions.no_admission end
  return admissions.read_admission(step, value)
end
local function exists(step, id) return call('HEXISTS', step.keys.jobs, id) == 1 end

local function check_run(step, id, queue, row, has_history)
  if not row then return wrong(step, 'job ', id, ' is processing without a run') end
  local run = read_run(row)
  if not run or not are_texts(run.permits) then
    return wrong(step, 'job ', id, ' has a run that cannot be read')
  end
  for _, name in ipairs(admissions.permits_in(step, run.permits)) do
    if call('HEXISTS', step.keys.claim_permits, name) == 0 or
       call('HEXISTS', step.keys.claim_permits, admissions.permit_of(name)) == 0 then
      wrong(step, 'the claim of job ', id, ' has ', name, ', and the job does not hold it')
    end
  end
  if run.queue ~= queue then wrong(step, 'job ', id, ' runs for queue ', run.queue, ' in the line of ', queue) end
  if not was_drawn(step, run.fence) then wrong(step, 'job ', id, ' has a fence that was never drawn') end
  if has_history and values.has_no_history(run) then
    wrong(step, 'job ', id, ' has a history that its run does not know of')
  end
  if values.is_asked_to_end(run) and not has_history then
    wrong(step, 'job ', id, ' is asked to end, and no history says by whom')
  end
end

local function check_waiter(step, id, queue, arrival)
  local a = admission_in(step, id)
  if not a then return end
  local score = a.at ~= '' and call('ZSCORE', wait_line(step, queue, a.at), id)
  if not score then return wrong(step, 'job ', id, ' is throttled and waits in no line') end
  if tonumber(score) ~= a.arrival or arrival ~= a.arrival then
    wrong(step, 'job ', id, ' waits at another place than it was given')
  end
end


local function check_state(step, id, queue, kind, score, losses)
  local row, has_history = call('HGET', step.keys.runs, id), call('HEXISTS', step.keys.history, id) == 1
  if kind == 'processing' then check_run(step, id, queue, row, has_history)
  elseif row then wrong(step, 'job ', id, ' has a run but is ', kind) end
  if kind == 'throttled' then check_waiter(step, id, queue, score)
  else
    local a = admission_in(step, id)
    if a and a.at ~= '' then wrong(step, 'job ', id, ' waits for ', a.at, ' but is ', kind) end
    if a and a ~= admissions.no_admission and mending.is_final_kind(kind) then
      wrong(step, 'job ', id, ' is ', kind, ' and has to do with a throttler')
    end
  end
  if kind == 'throttled' or kind == 'awaiting' or places.is_enqueued(kind) then
    if not is_place(step, score) then wrong(step, 'job ', id, ' has a place that was never drawn') end
  elseif not is_instant(score) then wrong(step, 'job ', id, ' is ', kind, ' at no instant') end
  if losses and places.is_suspect(losses) and (kind == 'ready' or kind == 'front') then
    wrong(step, 'job ', id, ' is a suspect but is ', kind)
  elseif losses and not places.is_suspect(losses) and kind == 'suspect' then
    wrong(step, 'job ', id, ' is in the line of suspects and was not lost so often')
  end
end

function look.jobs(step, id, record)
  local queue = values.queue_of(record)
  if not queue then return wrong(step, 'job ', id, ' has a record that cannot be read') end
  local p = values.read_history(call('HGET', step.keys.history, id))
  if not p or not are_texts(p.ended_runs, p.n) then wrong(step, 'job ', id, ' has a history that cannot be read')
  elseif not was_drawn(step, p.settled) then wrong(step, 'job ', id,
                                                   ' has a history with a fence that was never drawn') end
  local kinds, scores = kinds_of(step, id, record, queue)
  if #kinds == 0 then look_besides(step, 'unplaced', id) end
  if #kinds > 1 then
    local names = {}
    for n, kind in ipairs(kinds) do names[n] = kind .. ' of ' .. queue end
    table.sort(names, lists.by_bytes)
    wrong(step, 'job ', id, ' is in several lines: ', table.concat(names, ', '))
  end
  if #kinds == 1 then check_state(step, id, queue, kinds[1], scores[1], p and p.losses) end
end

local function look_for_job(step, name, id)
  if not exists(step, id) then wrong(step, 'there is ', name, ' of job ', id, ', which does not exist') end
end
function look.runs(step, id) look_for_job(step, 'a run', id) end
function look.history(step, id) look_for_job(step, 'a history', id) end

function look.admission(step, id, value)
  if not exists(step, id) then return look_for_job(step, 'an admission', id) end
  local a = admissions.read_admission(step, value)
  if not a or admissions.write_admission(a) ~= value then
    return wrong(step, 'job ', id, ' has an admission that cannot be read')
  end
  local run = read_run(call('HGET', step.keys.runs, id) or '')
  if run and values.has_no_admission(run) then
    wrong(step, 'job ', id, ' has an admission that its run does not know of')
  end
  for _, resource in ipairs(a.held) do
    if call('HEXISTS', holders(step, resource), id) == 0 then
      wrong(step, 'job ', id, ' has ', resource, ' but does not hold it')
    end
  end
  if not (was_drawn(step, a.fence) and was_drawn(step, a.arrival)) then
    wrong(step, 'job ', id, ' has an admission with a number that was never drawn')
  end
end

fresh.taken_by_claims = admissions.claims_by_rows  -- how many of each resource
local function count_of(step, resource) return step.taken_by_claims[resource] or 0 end
function look.claim_permits(step, resource, said)
  local found = count_of(step, resource)
  if said ~= base.int_text(found) then look_besides(step, 'count', resource)
  elseif found == 0 then wrong(step, resource, ' is counted as held by claims, and no run has it') end
  if admissions.permit_of(resource) ~= resource then return end
  if found > 0 and not call('ZSCORE', step.keys.busy, resource) then
    wrong(step, resource, ' is held and not listed so')
  end
end

function look.turns(step, field, turn)
  local queue, at = text_at(field, 1)
  if not (queue and at <= #field and match(turn, '^%d+ .')) then
    wrong(step, field, ' has a turn that cannot be read')
  end
end

function look.holders(step, id, value)
  local resource = sub(step.args[4], #holders(step, '') + 1)
  if not exists(step, id) then return look_besides(step, 'permit', reservation(resource, id)) end
  local kind, fence = match(value, '^(%a+) (%d+) %d+$')
  local row = call('HGET', step.keys.runs, id)
  local run = row and read_run(row)
  local runs_so = run and run.fence == fence
  local of_no_run = fence == '0' and not run
  local good
  if row and not run then good = kind  -- told of with the job
  elseif kind == 'held' then good = runs_so
  elseif kind == 'strict' then good = runs_so or of_no_run
  elseif kind == 'kept' then good = of_no_run
  elseif kind == 'reserved' then good = of_no_run and call('ZSCORE', step.keys.reserved,
                                                                 reservation(resource, id)) end
  if not good and mending.is_gone_or_final(step, id) then look_besides(step, 'permit', reservation(resource, id))
  elseif not good then wrong(step, resource, ' is held by job ', id, ' as ', value, ', which it has no right to') end
  local a = admission_in(step, id)
  if a and not admissions.has_permit(a, resource) then
    wrong(step, resource, ' is held by job ', id, ', of which it is not known')
  end
  if not call('ZSCORE', step.keys.busy, resource) then wrong(step, resource, ' is held and not listed so') end
end


local function waited_in(step, its) return match(its, '^([^/]*)/(.*)$', #wait_line(step, '', '')) end
function look.wait(step, id)
  local queue, resource = waited_in(step, step.args[4])
  if not queue then return end
  local a = admission_in(step, id)
  if not exists(step, id) then wrong(step, 'job ', id, ' is in the line of ', resource, ' but does not exist')
  elseif a and (a.at ~= resource or not call('ZSCORE', line(step, 'throttled', queue), id)) then
    wrong(step, 'job ', id, ' is in the line of ', resource, ' but does not wait for it')
  end
  if call('SISMEMBER', waits(step, resource), queue) == 0 or
     not call('ZSCORE', step.keys.waiting, resource) then
    wrong(step, resource, ' is waited for in queue ', queue, ' and not listed so')
  end
end

function look.waits(step, queue)
  local resource = sub(step.args[4], #waits(step, '') + 1)
  if call('EXISTS', wait_line(step, queue, resource)) == 0 then
    wrong(step, 'nobody of queue ', queue, ' waits for ', resource, ', but it is listed so')
  end
end


local function check_sorting(step, resource, score)
  if tonumber(score) ~= 0 then wrong(step, resource, ' is not listed as ', step.args[3], ' by its name') end
end
function look.busy(step, resource, score)

  local held = call('HLEN', holders(step, resource)) + (admissions.said_count(step, resource) or 1)
  if held == 0 then wrong(step, resource, ' is listed as busy and is not') end
  local is_plain = sub(resource, 1, 6) == 'mutex:' and
    call('HEXISTS', step.keys.definitions, resource) == 0
  if is_plain and held > 1 then wrong(step, resource, ' is held by ', held, ', which is more than one') end
  check_sorting(step, resource, score)
end
function look.waiting(step, resource, score)
  if call('EXISTS', waits(step, resource)) == 0 then wrong(step, resource, ' is listed as waiting and is not') end
  check_sorting(step, resource, score)
end
function look.reserved(step, member, since)
  local resource, behind = text_at(member, 1)
  if not resource or admissions.entry_of(step, resource, sub(member, behind)) ~= 'reserved' then
    wrong(step, member, ' is listed as reserved and is not')
  elseif not is_instant(tonumber(since)) then wrong(step, member, ' is reserved since no instant') end
end
function look.next_checks(step, resource, at)
  if not call('ZSCORE', step.keys.waiting, resource) then wrong(step, 'the line of ', resource,
                                                                      ' has a next check, and nobody waits in it')
  elseif not is_instant(tonumber(at)) then wrong(step, 'the next check of the line of ', resource, ' is no instant') end
end

function look.definitions(step, resource, said)
  if not match(said, '^{.*}$') then wrong(step, resource, ' has a definition that cannot be read') end
  if sub(resource, 1, 10) == 'semaphore:' and call('HEXISTS', step.keys.limits, resource) == 0 then
    wrong(step, resource, ' is defined and has no limit')
  end
end
function look.limits(step, resource, permits)
  local said = call('HGET', step.keys.definitions, resource)
  if not said then return wrong(step, resource, ' has a limit and no definition') end
  if not match(permits, '^%d+$') then return wrong(step, resource, ' has a limit that cannot be read') end
  local defined = match(said, '"limit":(%d+)')
  if defined and defined ~= permits and not match(said, '"mode":"release"') then
    wrong(step, resource, ' has a limit of ', permits, ' and is defined with ', defined)
  end
end
function look.configs(step, resource)
  if call('HEXISTS', step.keys.definitions, resource) == 0 then
    wrong(step, resource, ' has a configuration and no definition')
  end
end
function look.limiters(step, limiter, value)
  local at = match(value, '^%d+ ()')
  if not at or not are_texts(sub(value, at), 1) then wrong(step, 'limiter ', limiter, ' cannot be read') end
end

function look.locks(step, resource, value)
  local fence, at = match(value, '^(%d+) %d+ ()')
  if not fence or not text_at(value, at) then wrong(step, 'lock ', resource, ' cannot be read')
  elseif not was_drawn(step, fence) then wrong(step, 'lock ', resource, ' has a fence that was never drawn') end
  if not call('ZSCORE', step.keys.lock_ends, resource) then wrong(step, 'lock ', resource,
                                                                        ' is held and has no end') end
end
function look.lock_ends(step, resource, at)
  if call('HEXISTS', step.keys.locks, resource) == 0 then wrong(step, 'lock ', resource,
                                                                      ' has an end and nobody holds it')
  elseif not is_instant(tonumber(at)) then wrong(step, 'lock ', resource, ' ends at no instant') end
end

function look.schedules(step, name, value)
  local s = schedule_views.read_schedule(value)
  local rest, n = s and s.runs, 0
  while rest and rest ~= '' and n < constants.runs_remembered do
    local _, behind = schedule_views.first_run(rest)
    rest, n = behind, n + 1
  end
  if not call('ZSCORE', step.keys.schedule_names, name) then
    wrong(step, 'schedule ', name, ' is not listed by its name')
  end
  if rest ~= '' or n ~= s.n then return wrong(step, 'schedule ', name, ' cannot be read') end
  if not was_drawn(step, s.version) then wrong(step, 'schedule ', name, ' has a version that was never drawn') end
end
local function look_for_schedule(step, name)
  local is_there = call('HEXISTS', step.keys.schedules, name) == 1
  if not is_there then wrong(step, 'schedule ', name, ' is in ', step.args[3], ' but is not there') end
  return is_there
end
function look.schedule_names(step, name, score)
  if look_for_schedule(step, name) then check_sorting(step, name, score) end
end
function look.firing(step, name, at)
  if look_for_schedule(step, name) and not is_instant(tonumber(at)) then
    wrong(step, 'schedule ', name, ' is due at no instant')
  end
end
function look.places(step, name, value)
  if not look_for_schedule(step, name) then return end
  local number = match(value, '^%d+ %d+ (%d+)$')
  if not number then wrong(step, 'schedule ', name, ' has a place that cannot be read')
  elseif not was_drawn(step, number) then wrong(step, 'schedule ', name, ' has a place that was never drawn') end
end

local function look_for_queue(step, queue)
  if call('SISMEMBER', step.keys.queues, queue) == 0 then
    wrong(step, 'queue ', queue, ' is in ', step.args[3], ' but is not known')
  end
end
look.due, look.ending, look.paused = look_for_queue, look_for_queue, look_for_queue
function look.served(step, queue, until_)
  if not is_instant(tonumber(until_)) then wrong(step, 'queue ', queue, ' is served until no instant') end
end
function look.claims(step, mark, op)
  local at = match(mark, '^%d+ ()')
  if not at or not text_at(mark, at) or not match(op, '^%d+$') then
    wrong(step, 'the last claim of ', mark, ' cannot be read')
  end
end
function look.servers(step, id, said)
  local at = match(said, '^%d+ %d+ %-?%d+ %d+ ()')
  if not at or not are_texts(sub(said, at)) then wrong(step, 'server ', id, ' cannot be read') end
end

local function wrong_totals(step, queue)
  wrong(step, queue == '' and 'the store' or 'queue ' .. queue, ' has totals that cannot be read')
end
function look.totals(step, queue, value)
  local _, t = totals.read_last(value)
  if not t then wrong_totals(step, queue) end
end
function look.totals_before(step, queue, value)
  local _, at = read_totals(value, 1)
  local of_hour, behind = read_totals(value, at and at + 1 or 1)
  if not at or not of_hour or behind <= #value then wrong_totals(step, queue) end
end
function look.total_list(step, queue, rows)
  local at = 1
  while at and at <= #rows do
    local its = match(rows, '^,%d+ ()', at)
    local _, behind = read_totals(rows, its or #rows + 1)
    at = behind
  end
  if not at then wrong_totals(step, queue) end
end
function look.total_sizes(step, its, size)
  if call('EXISTS', step.prefix .. ':' .. its) == 0 then wrong(step, 'the totals of ', its,
                                                                     ' are listed and not there')
  elseif not match(size, '^%d+$') or tonumber(size) > constants.max_total_bytes then wrong(step,
                                                                                                  'the totals of ', its,
                                                                                                    ' have no size') end
end

function look.kept_bytes(step, its, value)
  local kind, queue = match(its, '^(%l+):(.*)$')
  if kind ~= 'quarantined' and not mending.is_final_kind(kind or '') or
     call('SISMEMBER', step.keys.queues, queue) == 0 then
    wrong(step, 'what the jobs of ', its, ' weigh is kept, and there is no such line')
  elseif not match(value, '^%d+ %d+ %d+$') then wrong(step, 'what the jobs of ', its,
                                                             ' weigh cannot be read') end
end

function look.operator_log(step, value, number)
  local a = values.read_action(value)
  if not a then wrong(step, 'action ', number, ' cannot be read')
  elseif a.number ~= tonumber(number) then wrong(step, 'act ', number, ' is not in its place') end
end


function fresh.own_lines() return {} end  -- by queue: the keys of its lines, but for those of types
function look.line(step, id)
  local record = call('HGET', step.keys.jobs, id)
  if not record then return wrong(step, 'job ', id, ' is in ', step.args[4], ' but does not exist') end
  local queue = values.queue_of(record)
  if not queue then return end
  if not step.own_lines[queue] then
    step.own_lines[queue] = {}
    for _, kind in ipairs(line_kinds) do step.own_lines[queue][line(step, kind, queue)] = true end
  end
  if not step.own_lines[queue][step.args[4]] and step.args[4] ~= places.type_line(step, queue,
                                                                                  values.type_of(record)) then
    wrong(step, 'job ', id, ' is in ', step.args[4], ', which is not of its queue')
  end
end
function look.quarantined(step, id, at)
  if call('HEXISTS', step.keys.quarantine, id) == 0 then wrong(step, 'job ', id, ' is in ', step.args[4],
                                                                     ' without its bytes')
  elseif not is_instant(tonumber(at)) then wrong(step, 'job ', id, ' is in quarantine at no instant') end
end

function look.quarantine(step, id, bytes)
  if not are_texts(bytes, 3) then wrong(step, 'what is in quarantine of job ', id, ' cannot be read') end
end


local many_of = {after = 'after', members = 'members', holders = 'holders', wait = 'wait', waits = 'waits',
                 type = 'line', quarantined = 'quarantined',
                 minutes = 'total_list', hours = 'total_list'}
for i = 1, #line_kinds do many_of[line_kinds[i]] = 'line' end


local hashes = {jobs = 'jobs', flow = 'flow', held_keys = 'held_keys', groups = 'group_counts', runs = 'runs',
                history = 'history', admission = 'admission', claim_permits = 'claim_permits', turns = 'turns',
                locks = 'locks', places = 'even_places', schedules = 'schedules', limits = 'limits', configs =
                  'configs', limiters = 'limiters', claims = 'claims', servers = 'servers', definitions = 'definitions',
                quarantine = 'quarantine', totals = 'totals', totals_before = 'totals_before', total_sizes =
                  'total_sizes', kept_bytes = 'kept_bytes'}
local sorted_sets = {agenda = 'agenda', busy = 'busy', waiting = 'waiting', reserved = 'reserved',
                     next_checks = 'next_checks',
                     lock_ends = 'lock_ends', schedule_names = 'schedule_names', firing = 'firing', due = 'due',
                       ending = 'ending', served = 'served', operator_log = 'operator_log'}
local sets = {queues = 'queues', paused = 'paused'}
local function is_only_one(step, its)
  for _, some in ipairs({hashes, sorted_sets, sets, {'number_key', 'schema', 'flow_mark'}}) do
    for _, name in pairs(some) do
      if its == step.keys[name] then return true end
    end
  end
  return false
end
local function is_of_a_queue(step, kind, rest)
  local queue = rest
  if kind == 'minutes' or kind == 'hours' then
    return call('HEXISTS', step.keys.total_sizes, kind .. ':' .. rest) == 1
  end
  if kind == 'type' or kind == 'wait' then
    local its, behind = match(rest, '^([^/]*)/(.*)$')
    if kind == 'wait' then return its end
    if not its or call('SISMEMBER', places.types_of(step, its), behind) == 0 then return false end
    queue = its
  end
  return (many_of[kind] or kind == 'types') and call('SISMEMBER', step.keys.queues, queue) == 1
end
function look.keys(step, its)
  local kind, rest = match(its, '^(%l+):(.*)$', #step.prefix + 2)
  if many_of[kind or ''] then look_besides(step, many_of[kind], its) end
  if kind == 'awaiting' then look_besides(step, 'awaiting', its) end

  if kind == 'holders' or kind == 'waits' or kind == 'after' or kind == 'members' then return end
  if not (kind and is_of_a_queue(step, kind, rest)) and not is_only_one(step, its) then
    wrong(step, 'key ', its, ' belongs to nobody')
  end
end


function auditing.audit_slice(step)
  local what = step.args[3]
  if what == 'all' then
    if not step.stored[1] and call('EXISTS', step.keys.jobs) == 1 then wrong(step, 'the store says no layout') end
    if not step.can_draw then wrong(step, step.keys.number_key, ' leaves no number to draw, or is none') end
    local names = {}
    for _, some in ipairs({hashes, sorted_sets, sets}) do
      for name in pairs(some) do names[#names + 1] = name end
    end
    table.sort(names, lists.by_bytes)
    for _, name in ipairs(names) do
      look_besides(step, name, step.keys[hashes[name] or sorted_sets[name] or sets[name]])
    end
    look_besides(step, 'keys', '')
    return {'0', step.findings, step.besides}
  end

  if what == 'keys' then

    local slice = call('SCAN', step.args[5], 'MATCH', step.prefix:gsub('[*?%[%]\\]', '\\%0') .. ':*', 'COUNT',
                             step.args[6])
    for _, its in ipairs(slice[2]) do look.keys(step, its) end
    return {slice[1], step.findings, step.besides}
  end
  local with_values = hashes[what] or what == 'holders' or what == 'total_list'
  return {mending.look_through(step, with_values and 'HSCAN' or (sets[what] or what == 'waits') and 'SSCAN' or 'ZSCAN'),
          step.findings, step.besides}
end
end
do  -- repairing.lua

local sorted = base.sorted
local after, members = keys.after, keys.members
local add_two = lists.add_two
local line = places.line
local has_work = hints.has_work
local change_flow, flow_of, owes, owes_at = flow.change_flow, flow.flow_of, flow.owes, flow.owes_at
local key_of = unique_keys.key_of
local group_kept, is_finished = groups.group_kept, groups.is_finished
local after_parent, end_of = continuations.after_parent, continuations.end_of
local stands_in_agenda = mending.stands_in_agenda
function fresh.mended_ends() return {} end  -- in this step, as plan_ends has it
function fresh.lost_jobs() return {} end   -- of whom nothing is to be left
function fresh.last_writes() return {} end  -- writes that come last
local mends = {}
local scan_for = {queues = 'SSCAN', flow = 'HSCAN', held_keys = 'HSCAN', groups = 'HSCAN'}
local function row_of(step, id)
  return flow_of(step, id) or {has_children = call('EXISTS', after(step, id)) == 1}
end

function mends.mark(step) return 'it was set' end
function mends.owe(step, member)
  owes(step, member)
  return 'the next look at what is due goes on with it'
end
function mends.owe_no_more(step, member)
  step.flow_plan.owed[member] = false
  return 'it was removed'
end

function mends.instant(step, member)
  local what = match(member, '^%l+')
  owes_at(step, member, (what == 'seal' or what == 'forget') and step.now + group_kept or 0)
  return 'it is looked at ' .. ((what == 'seal' or what == 'forget') and 'in a day' or 'at once')
end
function mends.due(step, queue)
  step.last_writes[#step.last_writes + 1] = function() places.refresh_due(step, queue) end
  has_work(step, '@')
  return 'it is listed as it should be'
end
function mends.leases(step, queue, first)
  step.last_writes[#step.last_writes + 1] = function() call('ZADD', step.keys.ending, first, queue) end
  has_work(step, '@')
  return 'they are looked at'
end



function mends.unplaced(step, id)
  local queue, f, a = values.queue_of(call('HGET', step.keys.jobs, id)), flow_of(step, id),
    admissions.admission_of(step, id)
  local p = values.read_history(call('HGET', step.keys.history, id))
  local function enter(key, score) add_two(step.flow_plan.entering, sorted(step, key), score, id) end
  step.last_writes[#step.last_writes + 1] = function() call('SADD', step.keys.queues, queue) end
  if call('HEXISTS', step.keys.runs, id) == 1 then
    enter(line(step, 'processing', queue), step.now_text)
    step.last_writes[#step.last_writes + 1] = function() call('ZADD', step.keys.ending, 'LT', step.now_text,
                                                                    queue) end
    has_work(step, '@')
    return 'its run counts as lost'
  end
  local arrival = a and a.at ~= '' and call('ZSCORE', keys.wait_line(step, queue, a.at), id)
  if arrival then
    enter(line(step, 'throttled', queue), arrival)
    return 'it waits for ' .. a.at
  end
  if f and f.parents and not f.is_unmet then
    enter(line(step, 'awaiting', queue), base.int_text(numbers.draw(step, 1)))
    return 'it awaits others'
  end
  enter(places.tail(step, queue, p and p.losses or 0), base.int_text(numbers.draw(step, 1)))
  has_work(step, queue)
  return 'it is ready'
end

function mends.permit(step, entry)
  local resource, at = values.text_at(entry, 1)
  local id = sub(entry, at)
  admissions.check_throttlers(step)
  step.last_writes[#step.last_writes + 1] = function()
    waiting.forget_job(step, id)
    if call('HEXISTS', keys.holders(step, resource), id) == 0 then return end
    call('ZREM', step.keys.reserved, admissions.reservation(resource, id))
    admissions.remove_entries(step, resource, {id})
    waiting.pass_on(step, resource)
  end
  return 'it was given back'
end
function mends.count(step, resource)
  admissions.check_throttlers(step)
  step.last_writes[#step.last_writes + 1] = function() waiting.count_anew(step) end
  return 'it was counted anew'
end


function mends.row(step, id)
  local f = flow_of(step, id)
  change_flow(step, id, f or {has_children = call('EXISTS', after(step, id)) == 1})
  return f and 'it was written anew' or 'it was made anew by what others say of it'
end
function mends.no_children(step, id)
  if not step.flow_plan.edges.of[after(step, id)] then
    local f = flow_of(step, id)
    f.has_children = false
    change_flow(step, id, f)
  end
  return 'it is said to have none'
end
function mends.children(step, parent)
  if end_of(step, parent, {}) == 'missing' then
    step.last_writes[#step.last_writes + 1] = function() call('DEL', after(step, parent)) end
    return 'there is no such job: they were removed from it'
  end
  local f = row_of(step, parent)
  f.has_children = true
  change_flow(step, parent, f)
  return 'it is said to have some'
end
function mends.edge(step, id, parent_id)
  local f, its = flow_of(step, id), row_of(step, parent_id)
  its.has_children = true
  change_flow(step, parent_id, its)
  for _, parent in ipairs(f.parents) do
    if parent.id == parent_id then
      add_two(step.flow_plan.edges, after_parent(step, parent_id), continuations.edge_score(f, parent), id)
    end
  end
  return 'it is'
end


local function place(step, id, f)
  local where_it_is = {released = 'it was released', unmet = 'it was deleted', awaiting = 'it awaits others'}
  local unmet, letter = '', ''
  for _, parent in ipairs(f.parents) do
    if parent.state == '4' then unmet, letter = parent.id, 'missing'
    elseif parent.state == '2' then unmet, letter = parent.id, end_of(step, parent.id, {}) end
  end
  return where_it_is[continuations.place_awaiting(step, id, f, unmet, letter, step.mended_ends) or 'awaiting']
end
function mends.place(step, id)
  local f = row_of(step, id)
  if not f.parents then
    f.parents, f.need, f.delay = {}, 0, 0
    local where = place(step, id, f)
    f.parents = nil
    return where
  end
  if f.is_unmet then
    f.is_unmet = false
    continuations.put_edges(step, id, f)
    change_flow(step, id, f)
  end
  if f.unless == 'u' then  -- all that have it among their children have been looked at
    f.unless = 'k'
    change_flow(step, id, f)
  end
  return place(step, id, f)
end
function mends.child(step, parent_id, id)
  local f, its_end = row_of(step, id), end_of(step, parent_id, {})
  local record = call('HGET', step.keys.jobs, id)
  local queue = record and values.queue_of(record)
  local is_lost = queue and call('ZSCORE', line(step, 'awaiting', queue), id) and its_end ~= 'missing' and
                  (not f.parents or f.unless == 'u')
  if not is_lost then
    lists.add_one(step.flow_plan.dropped, after_parent(step, parent_id), id)
    return 'it was taken from them'
  end


  f.parents = f.parents or {}
  f.parents[#f.parents + 1] = {id = parent_id, state = its_end == '' and '0' or its_end == 's' and '1' or '2'}
  f.need, f.delay, f.is_unmet, f.on, f.unless = #f.parents, 0, false, 's', 'u'
  change_flow(step, id, f)
  add_two(step.flow_plan.edges, after_parent(step, parent_id), continuations.edge_score(f, f.parents[#f.parents]), id)
  return 'it awaits it again'
end




local function group_or_remade(step, name)
  local g = groups.group_of(step, name)
  if g then return g end
  local node = groups.node_of(name)
  local function count(score) return call('ZCOUNT', members(step, name), score, score) end
  local was_cancelled = stands_in_agenda(step, 'cancel', node) or count(4) > 0
  g = {state = was_cancelled and 'c' or stands_in_agenda(step, 'forget', node) and 's' or 'o',
       open = count(0) + count(4),
       s = count(1), f = count(2), d = count(3), created = step.now, ended = 0}
  groups.change_group(step, name, g)
  return g
end

local function remade_if_group(step, node)
  local name = groups.group_in(node)
  local is_told = name and (call('EXISTS', members(step, name)) == 1 or
                            call('HEXISTS', step.keys.group_counts, name) == 1)
  for _, what in ipairs({'seal', 'cancel', 'forget'}) do
    is_told = is_told or name and stands_in_agenda(step, what, node)
  end
  return is_told and group_or_remade(step, name) and 'it was made anew from its members'
end
function mends.group(step, name)
  local was_there, node = groups.group_of(step, name), groups.node_of(name)
  local had_failed = was_there and was_there.f > 0
  local g = group_or_remade(step, name)
  local function count(score) return call('ZCOUNT', members(step, name), score, score) end
  g.open = count(0) + count(4)
  g.s, g.f, g.d = math.max(g.s, count(1)), math.max(g.f, count(2)), math.max(g.d, count(3))
  groups.change_group(step, name, g)
  if g.f > 0 and not had_failed then step.mended_ends[#step.mended_ends + 1] = {node, 'e'} end
  if is_finished(g) and g.ended == 0 then groups.finish_group(step, name, g, step.mended_ends)
  elseif is_finished(g) and not stands_in_agenda(step, 'forget', node) then owes_at(step, 'forget - ' .. node,
                                                                                    step.now + group_kept)
  elseif not is_finished(g) and g.ended > 0 then
    g.ended = 0
    flow.owes_no_more(step, 'forget - ' .. node)
    flow.take_back_end(step, node)
  end
  if g.state == 'o' and not stands_in_agenda(step, 'seal', node) then
    owes_at(step, 'seal - ' .. node, step.now + group_kept)
  end
  if g.state == 'c' and count(0) > 0 then owes(step, 'cancel - ' .. node) end
  return was_there and 'it was made to agree with its members' or 'it was made anew from its members'
end
function mends.member(step, id)
  local f, how = flow_of(step, id), end_of(step, id, {})
  local g, score = group_or_remade(step, f.group), call('ZSCORE', members(step, f.group), id)
  if how == '' and f.counted ~= '-' then
    local again = {}
    if score == groups.member_scores[f.counted] and g[f.counted] > 0 then groups.count_again(step, id, f, again) end
    for _, one in ipairs(again) do owes(step, 'again - ' .. one) end
    f.counted = '-'
    change_flow(step, id, f)
  elseif how ~= '' and how ~= 'missing' and f.counted == '-' then owes(step, 'edges ' .. how .. ' ' .. id) end
  groups.put_member(step, f.group, id, f.counted == '-' and (score == '4' and '4' or '0') or
                    groups.member_scores[f.counted])
  return how == '' and 'it counts as open' or 'it counts as it ended'
end
function mends.membership(step, name, id)
  local f, letters = row_of(step, id), {['1'] = 's', ['2'] = 'f', ['3'] = 'd'}
  if end_of(step, id, {}) == 'missing' or f.group then
    lists.add_one(step.flow_plan.dropped, sorted(step, members(step, name)), id)
    return 'it was taken from them'
  end
  f.group, f.counted = name, letters[call('ZSCORE', members(step, name), id)] or '-'
  change_flow(step, id, f)
  return 'it knows of it again'
end


function mends.key(step, key)
  local k = key_of(step, key)
  unique_keys.change_key(step, key, k)
  return k and 'it was written anew' or 'it is free, but for a job that names it'
end
function mends.period(step, key)
  owes_at(step, 'key - ' .. key, key_of(step, key).until_)
  return 'its end is looked at'
end
function mends.own_key(step, id)
  local f = flow_of(step, id)
  if unique_keys.key_taken_by(step, id, f) then
    f.key, f.point = nil, nil
    change_flow(step, id, f)
    return 'another has it: this one has none'
  end
  return 'it has it again'
end
function mends.holder(step, key, id)
  local f, k = row_of(step, id), key_of(step, key)
  if end_of(step, id, {}) == '' and not f.key then
    f.key, f.point = key, k.point
    change_flow(step, id, f)
    return 'it knows of it again'
  end
  unique_keys.free_key(step, id, {key = key})
  return 'it does not have it any more'
end
function mends.clock(step, id)
  clocks.watch_clock(step, id, flow_of(step, id), clocks.has_begun(values.read_history(call('HGET',
                                                                                                  step.keys.history,
                                                                                                    id))))
  return 'it is looked at'
end


function mends.lost(step, id)
  local remade = remade_if_group(step, id)
  if remade then return remade end
  local f = flow_of(step, id)
  continuations.let_go(step, id, f, 'f', step.mended_ends)
  continuations.reduce_row(step, id, f)
  step.lost_jobs[#step.lost_jobs + 1] = id
  return 'it counts as failed, and what there was of it was removed'
end
function mends.lost_parent(step, id, parent_id)
  local remade = remade_if_group(step, parent_id)
  if remade then return remade end
  local f = flow_of(step, id)
  for _, parent in ipairs(f.parents) do
    if parent.id == parent_id then parent.state = string.find(f.on, 'f', 1, true) and '3' or '4' end
  end
  change_flow(step, id, f)
  place(step, id, f)
  return 'that one counts as failed'
end


local function mend_all(step)
  local done, told = {}, {}
  for i, mend in ipairs(step.mends_for) do
    local which = table.concat(mend, '\n')
    done[which] = done[which] or mends[mend[1]](step, mend[2], mend[3])
    told[i] = done[which]
  end
  if #told == 0 then return told end
  continuations.plan_ends(step, step.mended_ends)
  totals.keep_totals(step, step.job_counts)
  continuations.carry_out_ends(step)
  continuations.forget_flow(step, step.lost_jobs)
  for _, write in ipairs(step.last_writes) do write() end
  if call('HLEN', step.keys.flow) > 0 or call('EXISTS', step.keys.agenda) == 1 then
    call('SET', step.keys.flow_mark, '1')
  end
  hints.finish(step)
  return told
end


function repairing.repair_slice(step)
  call('SCARD', step.keys.queues)
  call('HLEN', step.keys.flow)
  call('HLEN', step.keys.held_keys)
  call('HLEN', step.keys.group_counts)
  sorted(step, step.keys.agenda)
  sorted(step, step.keys.due)
  sorted(step, step.keys.ending)
  local cursor = mending.look_through(step, scan_for[step.args[3]] or 'ZSCAN')
  return {cursor, step.findings, {}, mend_all(step)}
end
end
do  -- calls/acquire_permits.lua








local many = lists.many
local read_run = values.read_run
local no_admission = admissions.no_admission



local function read_call(args)
  local p = {ids = {}, fences = {}, group_of = {}, rows = {},  -- by the place of the run
             limit = {}, room = {}, first_served = {},         -- by resource
             parked = {}, spilled = {}, marked = {},           -- by id
             granted = lists.grouped(), changed = {}, changes = 0, moved_out = {}}  -- for write_grants
  local n, at = 0, 3
  while args[at] do
    local count, first = tonumber(args[at]), at + 4
    local group = {strict = args[at + 1] == 's', may_wait = args[at + 2] == '1', wants = {}}
    at = first + args[at + 3]
    for i = first, at - 1 do group.wants[i - first + 1] = args[i] end
    group.admission = admissions.admission_with(group.wants)
    for _ = 1, count do
      n = n + 1
      p.group_of[n], p.ids[n], p.fences[n] = group, args[at], args[at + 1]
      at = at + 2
    end
  end
  return p
end


local function look_at_runs(step, p)
  admissions.check_throttlers(step)
  numbers.may_draw(step)
  call('HLEN', step.keys.admission)
  if step.has_flow then
    call('HLEN', step.keys.flow)
    call('HLEN', step.keys.held_keys)
    base.sorted(step, step.keys.agenda)
  end
  p.rows, p.had = many('HMGET', step.keys.runs, p.ids), admissions.admissions_of(step, p.ids)
  local asked = cancelling.asked_among(p.rows, p.ids, p.fences)
  if #asked > 0 then
    cancelling.end_before_begin(step, asked)
    p.rows, p.had = many('HMGET', step.keys.runs, p.ids), nil
  end
end


local function write_grants(step, p)
  for _, resource in ipairs(p.granted.order) do admissions.add_entries(step, resource, p.granted.of[resource]) end
  lists.put(step.keys.admission, p.changed)
  many('HSET', step.keys.runs, p.moved_out)
  p.granted, p.changed, p.changes, p.moved_out = lists.grouped(), {}, 0, {}
end
local function admission_now(step, p, id)
  if p.had then return p.had[id] or no_admission end
  write_grants(step, p)
  return admissions.admission_of(step, id) or no_admission
end

local function is_defined(step, p, resource)
  if p.limit[resource] == nil then p.limit[resource] = admissions.limit_of(step, resource) or false end
  return p.limit[resource]
end

local function has_room(step, p, resource)
  if not p.room[resource] then p.room[resource] = p.limit[resource] - admissions.held_of(step, resource) end
  if p.room[resource] > 0 and not p.first_served[resource] then
    p.first_served[resource] = true
    if call('ZSCORE', step.keys.waiting, resource) then
      write_grants(step, p)
      local passed = waiting.pass_on(step, resource)
      p.room[resource] = p.room[resource] - passed
      if passed > 0 then p.had = nil end  -- some of it may be of old
    end
  end
  return p.room[resource] > 0
end


local function mark_row(p, i, run)
  local id = p.ids[i]
  if p.marked[id] then return end
  local s = run or read_run(p.rows[i])
  p.marked[id] = true
  s.has = values.has_with_admission[s.has] or s.has
  p.moved_out[#p.moved_out + 1], p.moved_out[#p.moved_out + 2] = id, values.write_run(s)
end
local function make_strict(step, id, fence, a)
  for _, resource in ipairs(a.held) do
    local kind, since = admissions.entry_of(step, resource, id)
    if kind ~= 'strict' then admissions.add_entries(step, resource, {id, 'strict ' .. fence .. ' ' .. since}) end
  end
end

local function grant(step, p, i, a, missing, run)
  local id, fence, group = p.ids[i], p.fences[i], p.group_of[i]
  if #missing == 0 and not group.strict then return end
  if run then
    a = admissions.copy_of(a)
    for _, resource in ipairs(admissions.spill_permits(step, id, run)) do a.held[#a.held + 1] = resource end
    p.spilled[id] = true
  end
  mark_row(p, i, run)
  if group.strict then make_strict(step, id, fence, a) end
  if #missing == 0 and not run then return end
  local entry = (group.strict and 'strict ' or 'held ') .. fence .. ' ' .. step.now_text
  for _, resource in ipairs(missing) do
    lists.add_two(p.granted, resource, id, entry)
    p.room[resource] = p.room[resource] - 1
  end
  local now_has = group.admission
  if a ~= no_admission then
    local b = admissions.copy_of(a)
    for _, resource in ipairs(missing) do b.held[#b.held + 1] = resource end
    table.sort(b.held, lists.by_bytes)
    now_has = admissions.write_admission(b)
  end
  p.changed[p.changes + 1], p.changed[p.changes + 2] = id, now_has
  p.changes = p.changes + 2
  if p.had then p.had[id] = admissions.read_admission(step, now_has) end
end

local function park(step, p, i, a, resource, free)
  local id, parting = p.ids[i], read_run(p.rows[i])
  if not parting then return 's' end
  if p.spilled[id] then parting.permits = '' end
  write_grants(step, p)
  waiting.park_run(step, id, parting, a, resource, free)
  p.parked[id] = true
  p.had, p.room, p.first_served = nil, {}, {}
  return 'p', resource
end


local function missing_of(step, p, group, a, run)
  local plain = a == no_admission and not run
  local inline_permits = run and {held = admissions.permits_in(step, run.permits)}
  local missing = plain and group.wants or {}
  for _, resource in ipairs(group.wants) do
    if not is_defined(step, p, resource) then return nil, resource end
    if not plain and not admissions.has_permit(a, resource) and
       not (inline_permits and admissions.has_permit(inline_permits, resource)) then
      missing[#missing + 1] = resource
    end
  end
  return missing
end

local function decide(step, p, i)
  local id, fence, group, row = p.ids[i], p.fences[i], p.group_of[i], p.rows[i]
  local a = admission_now(step, p, id)
  local run = row and read_run(row)
  if row and not run then return 's' end

  if run and sub(admissions.permits_in(step, run.permits)[1] or '', 1, 6) == 'chain:' then return 's' end
  if run and (run.permits == '' or p.spilled[id]) then run = nil end
  if not row or p.parked[id] or fence == '0' or sub(row, 1, #fence + 1) ~= fence .. ' ' then
    if a.at ~= '' and a.fence == fence and fence ~= '0' then return 'p', a.at end
    return 's'
  end
  local missing, undefined = missing_of(step, p, group, a, run)
  if not missing then return 'u', undefined end
  for n, resource in ipairs(missing) do
    if not has_room(step, p, resource) then
      if not group.may_wait then return 'b', resource end
      return park(step, p, i, a, resource, {unpack(missing, 1, n - 1)})
    end
  end
  grant(step, p, i, a, missing, run)
  return 'g'
end

function calls.acquire_permits(step)
  local p = read_call(step.args)
  look_at_runs(step, p)
  local letters, resources = {}, {}
  for i in ipairs(p.ids) do
    letters[i], resources[#resources + 1] = decide(step, p, i)
  end
  write_grants(step, p)
  if step.has_flow and next(p.parked) then
    local its = {}
    for id in pairs(p.parked) do its[#its + 1] = id end
    continuations.tell_of_parked(step, its)
  end
  return {table.concat(letters), hints.finish(step), resources}
end
end
do  -- calls/audit.lua






function calls.audit(step)
  return auditing.audit_slice(step)
end
end
do  -- calls/change.lua











local sorted = base.sorted
local remember = values.remember
local finish = hints.finish

function calls.change(step)
  local args = step.args
  local id = args[4]
  local record = call('HGET', step.keys.jobs, id)
  if not record then return {'not_found', ''} end
  local at = places.place_of(step, id, record)
  local p = values.read_history(call('HGET', step.keys.history, id))
  if not at or not p then
    local was_scheduled = at and at.kind == 'scheduled'
    if was_scheduled then sorted(step, step.keys.due) end
    endings.move_to_quarantine(step, id, at and at.key, at and at.queue or values.queue_of(record) or 'default')
    if was_scheduled then places.refresh_due(step, at.queue) end
    return {'damaged', finish(step)}
  end
  local state = places.is_enqueued(at.kind) and 'enqueued' or at.kind
  if at.kind == 'deleted' and args[3] ~= 'requeue' or places.is_enqueued(at.kind) and args[3] == 'requeue' then
    return {'already', ''}  -- also when it is asked again what it has done
  end
  if args[6] ~= '' and args[6] ~= state then return {'is ' .. state, ''} end
  local is_final = state == 'succeeded' or state == 'failed' or state == 'deleted'
  if is_final and args[3] == 'cancel' then return {'ended ' .. state, ''} end
  local row = at.kind == 'processing' and call('HGET', step.keys.runs, id)
  local run = row and values.read_run(row)
  if run and args[3] == 'cancel' then
    if args[10] == '1' then hints.has_work(step, '!') end
    if values.is_asked_to_end(run) then return {'asking', finish(step)} end
    remember(step, p, '0', 0, step.now_text, '', args[9])
    p.reason, run.has = args[8], values.has_when_asked[run.has]
    call('HSET', step.keys.history, id, values.write_history(p))
    call('HSET', step.keys.runs, id, values.write_run(run))
    return {'asked', finish(step)}
  end
  local target, score
  if args[3] == 'requeue' then
    if at.kind == 'processing' then return {at.kind, ''} end
    if at.kind == 'throttled' then
      local a = admissions.admission_of(step, id) or admissions.no_admission
      return {'throttled ' .. a.at, ''}
    end
    remember(step, p, '0', 0, step.now_text, '', args[7])
    if at.kind ~= 'scheduled' then  -- a final job starts afresh, with all its attempts
      p.failures, p.attempt, p.losses = 0, 0, 0
    end
    p.result = ''
    hints.has_work(step, at.queue)
    target, score = sorted(step, places.tail(step, at.queue, p.losses)), base.int_text(numbers.draw(step, 1))
    local refused = step.has_flow and continuations.plan_requeue(step, id, is_final)
    if refused then return {refused, ''} end
  else
    if run then
      remember(step, p, run.fence, run.attempt, run.started, run.server, args[8])
      p.attempt = run.attempt
    else
      remember(step, p, '0', 0, step.now_text, '', args[7])
    end
    totals.count_jobs(step, at.queue, 'deleted', 1)

    if step.has_flow and not is_final then continuations.plan_ends(step, {{id, 'd'}}) end
    target, score = sorted(step, places.line(step, 'deleted', at.queue)), step.now_text
  end
  if row or at.kind == 'throttled' then admissions.check_throttlers(step) end
  if args[3] ~= 'requeue' then admissions.admission_of(step, id) end  -- looks at what forget_job touches
  p.reason = args[5]
  if at.kind == 'scheduled' then sorted(step, step.keys.due) end
  call('HLEN', step.keys.runs)
  totals.keep_totals(step, step.job_counts)
  call('ZADD', target, score, id)
  if at.key ~= target then call('ZREM', at.key, id) end
  call('HDEL', step.keys.runs, id)
  call('HSET', step.keys.history, id, values.write_history(p))
  if at.kind == 'scheduled' then places.refresh_due(step, at.queue) end
  if step.has_flow then continuations.carry_out_ends(step) end
  if args[3] ~= 'requeue' then waiting.forget_job(step, id, row) end
  return {'done', finish(step)}
end
end
do  -- calls/change_group.lua






function calls.change_group(step)
  local args = step.args
  call('HLEN', step.keys.flow)
  call('HLEN', step.keys.group_counts)
  local ended = {}
  local told = groups.plan_group_change(step, args[3], args[4], args[5], args[6], ended)
  if told ~= 'done' then return {told, ''} end
  continuations.plan_ends(step, ended)
  totals.keep_totals(step, step.job_counts)
  base.say_layout(step)
  continuations.carry_out_ends(step)
  return {told, hints.finish(step)}
end
end
do  -- calls/claim.lua

function calls.claim(step)
  local answer = claiming.claim(step, 3)
  answer[1] = hints.finish(step)
  return answer
end
end
do  -- calls/define.lua





function calls.define(step)
  local args = step.args
  admissions.check_throttlers(step)
  local resource, said, permits, config = args[3], args[4], args[5], args[6]
  if config ~= '' and call('HGET', step.keys.configs, resource) == config then return {'unchanged', ''} end
  local before, limit_before = call('HGET', step.keys.definitions, resource),
    call('HGET', step.keys.limits, resource) or ''
  base.say_layout(step)
  if config ~= '' then call('HSET', step.keys.configs, resource, config) end
  if before == said and limit_before == permits then return {'unchanged', ''} end
  call('HSET', step.keys.definitions, resource, said)
  if permits == '' then
    call('HDEL', step.keys.limits, resource)
  else
    call('HSET', step.keys.limits, resource, permits)
  end

  if before and permits == '' then
    local version, rest = match(call('HGET', step.keys.limiters, resource) or '0 0:', '^(%d+)( .*)$')
    if version then call('HSET', step.keys.limiters, resource, base.int_text(version + 1) .. rest) end
  end
  if admissions.limit_of(step, resource) then
    waiting.pass_on(step, resource)
  else
    local function open(line_of_it)
      call('ZADD', step.keys.next_checks, step.now_text, line_of_it)
      hints.has_work(step, '@')
    end
    if call('ZSCORE', step.keys.waiting, resource) then open(resource) end
    local of_keys = call('ZRANGE', step.keys.waiting, '[' .. resource .. '/', '(' .. resource .. '0', 'BYLEX')
    for _, line_of_key in ipairs(of_keys) do open(line_of_key) end
  end
  return {before and 'changed' or 'added', hints.finish(step)}
end
end
do  -- calls/deregister.lua

function calls.deregister(step)
  local args = step.args
  gone_servers.forget_claims(step, {[args[3]] = true})
  call('HDEL', step.keys.servers, args[3])
  return 'OK'
end
end
do  -- calls/drop_quarantined.lua




function calls.drop_quarantined(step)
  local args = step.args
  local id = args[3]
  local bytes = call('HGET', step.keys.quarantine, id)
  local queue, since = endings.place_in_quarantine(step, id, bytes or '')
  local is_there = bytes or queue
  if not is_there or args[4] ~= '' and args[4] ~= (since and base.int_text(tonumber(since)) or '0') then
    return 'none'
  end

  if step.has_flow and call('HEXISTS', step.keys.jobs, id) == 0 then
    for _, letter in ipairs({'s', 'f', 'd'}) do
      if call('ZSCORE', step.keys.agenda, 'edges ' .. letter .. ' ' .. id) then return 'awaited' end
    end
    flow.read_flows(step, {id})
    if not continuations.may_be_forgotten(step, id) then return 'awaited' end
    continuations.forget_flow(step, {id})
  end
  if queue then call('ZREM', places.line(step, 'quarantined', queue), id) end
  call('HDEL', step.keys.quarantine, id)
  return 'gone'
end
end
do  -- calls/due_schedules.lua



function calls.due_schedules(step)
  local args = step.args
  local limit = tonumber(args[3])
  local answer = {step.now_text, ''}
  local names = call('ZRANGE', step.keys.firing, '-inf', step.now_text, 'BYSCORE', 'LIMIT', 0, limit)
  for _, name in ipairs(names) do answer[#answer + 1] = schedule_views.schedule_view(step, name) end
  if #names == limit then
    answer[2] = '0'
  else
    local coming = call('ZRANGE', step.keys.firing, '(' .. step.now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1,
                              'WITHSCORES')
    if coming[2] then answer[2] = base.int_text(math.min(base.longest, tonumber(coming[2]) - step.now)) end
  end
  return answer
end
end
do  -- calls/enqueue.lua




function calls.enqueue(step)
  local args = step.args


  if step.stored[1] and #args == 6 and args[5] == '0' then
    local id, queue, record = args[3], args[4], args[6]
    local row = totals.with_more_enqueued(step, call('HGET', step.keys.totals, queue) or '', 1)
    local ready = places.line(step, 'ready', queue)
    if row then call('ZCARD', ready) end
    local place = row and base.int_text(numbers.draw(step, 1))
    if row and call('HSETNX', step.keys.jobs, id, record) == 1 then
      call('HSET', step.keys.totals, queue, row)
      call('ZADD', ready, place, id)
      numbers.keep_number(step)
      pcall('PUBLISH', step.keys.channel, args[2] .. ' ' .. queue)
      return {''}
    end
  end


  local at = {}
  for i = 3, #args, 4 do at[#at + 1] = i end
  local answer, any = new_jobs.store_new(step, at)
  if any then hints.finish(step) end
  return answer
end
end
do  -- calls/enqueue_flow.lua






function calls.enqueue_flow(step)
  local args = step.args
  local all_or_none, at = args[3] == '1', 4
  local answer, n, there, is_refused = {}, 0, 0, false
  call('HLEN', step.keys.flow)
  call('HLEN', step.keys.held_keys)
  call('HLEN', step.keys.group_counts)
  flow_jobs.read_new(step, at, #args)
  while at <= #args do
    local what, about
    what, about, at = flow_jobs.plan_new(step, at)
    n = n + 1
    answer[n] = what == 'stored' and about == '' and '' or what .. ' ' .. about
    if what == 'there' then there = there + 1 elseif what ~= 'stored' then is_refused = true end
  end

  if all_or_none and (is_refused or there > 0 and there < n) then
    answer[n + 1] = ''
    return answer
  end
  flow_jobs.plan_new_ends(step)
  totals.keep_totals(step, step.job_counts)
  flow_jobs.write_new(step)
  continuations.carry_out_ends(step)
  answer[#answer + 1] = hints.finish(step)
  return answer
end
end
do  -- calls/expired.lua






local line = places.line

function calls.expired(step)
  local args = step.args
  local limit, slack = tonumber(args[3]), tonumber(args[4])
  local answer, next_end, broken, ends = {'', ''}, nil, {}, {}
  local function add(id, back, queue)
    local row = call('HGET', step.keys.runs, id)
    local run = row and values.read_run(row)
    if not run or run.queue ~= queue then
      broken[#broken + 1] = {id, queue}
      return
    end
    if back then
      local score = tonumber(call('ZSCORE', line(step, 'processing', run.queue), id) or '0')
      if score <= step.now + slack + run.lease then return end
    end
    if #answer > 3 * limit + 1 then return end
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = id, row, back and '1' or '0'
  end
  for _, queue in ipairs(call('ZRANGE', step.keys.ending, 0, -1)) do
    local processing = line(step, 'processing', queue)
    for _, id in ipairs(call('ZRANGE', processing, '-inf', step.now_text, 'BYSCORE', 'LIMIT', 0, limit)) do
      add(id, false, queue)
    end
    local coming = call('ZRANGE', processing, '(' .. step.now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1,
                              'WITHSCORES')
    if coming[2] then next_end = math.min(next_end or step.now + base.longest, tonumber(coming[2])) end
    local too_late = '(' .. base.int_text(step.now + slack)
    for _, id in ipairs(call('ZRANGE', processing, '+inf', too_late, 'BYSCORE', 'REV', 'LIMIT', 0, 1000)) do
      add(id, true, queue)
    end
    local first = call('ZRANGE', processing, 0, 0, 'WITHSCORES')
    ends[#ends + 1] = {queue, first[2]}
  end
  for _, b in ipairs(broken) do endings.may_move_to_quarantine(step, b[2]) end
  for _, e in ipairs(ends) do
    if e[2] then call('ZADD', step.keys.ending, e[2], e[1]) else call('ZREM', step.keys.ending, e[1]) end
  end
  for _, b in ipairs(broken) do endings.move_to_quarantine(step, b[1], line(step, 'processing', b[2]), b[2]) end
  if #broken > 0 then answer[2] = hints.finish(step) end
  if next_end then answer[1] = base.int_text(next_end - step.now) end
  return answer
end
end
do  -- calls/explain.lua







local is_enqueued = places.is_enqueued

function calls.explain(step)
  local args = step.args
  local id = args[3]
  local record = call('HGET', step.keys.jobs, id)
  if not record then
    if call('HEXISTS', step.keys.quarantine, id) == 1 then return {{id}} end
    return {{}}
  end
  local at = places.place_of(step, id, record) or {kind = 'lost', score = '0', queue = values.queue_of(record) or ''}
  local a = at.kind == 'throttled' and admissions.admission_of(step, id) or admissions.no_admission
  local first = 0

  local function count(key)
    local beyond = call('ZRANGE', key, constants.max_counted, constants.max_counted, 'WITHSCORES')[2]
    local are_more = first > constants.max_counted or (beyond and tonumber(beyond) < tonumber(at.score))
    first = are_more and constants.max_counted + 1 or first + call('ZCOUNT', key, '-inf', '(' .. at.score)
  end
  if at.kind == 'front' then count(at.key)
  elseif is_enqueued(at.kind) then
    first = call('ZCARD', places.line(step, 'front', at.queue))
    local kinds, its_lines = places.lines_of(step, at.queue)
    for i, kind in ipairs(kinds) do
      if kind ~= 'front' and is_enqueued(kind) then count(its_lines[i]) end
    end
  elseif a.at ~= '' then
    for _, queue in ipairs(call('SMEMBERS', keys.waits(step, a.at))) do
      count(keys.wait_line(step, queue, a.at))
    end
  end
  local open, groups_open, met = {}, {}, 0
  local f = flow.flow_of(step, id)
  local parents = at.kind == 'awaiting' and f and f.parents or {}
  for _, parent in ipairs(parents) do
    if parent.state == '0' then
      open[#open + 1] = parent.id
      if groups.group_in(parent.id) then groups.tell_group(step, groups.group_in(parent.id), groups_open) end
    elseif parent.state == '1' or parent.state == '3' then met = met + 1 end
  end
  local p = values.read_history(call('HGET', step.keys.history, id))
  local waits = f and (is_enqueued(at.kind) or a.at ~= '' or at.kind == 'scheduled' or at.kind == 'awaiting')
  local is_timed = waits and f.clock
  local leaves = waits and f.group and groups.group_of(step, f.group) and groups.is_cancelled(step, f.group)
  local until_ = tonumber(call('ZSCORE', step.keys.served, at.queue) or '0')
  return {{id, at.kind, at.score, record, call('HGET', step.keys.history, id) or '',
           places.run_told(step, id, at.kind)},
          call('SISMEMBER', step.keys.paused, at.queue), until_ > step.now and 1 or 0,
            math.min(first, constants.max_counted + 1),
          call('ZCARD', places.line(step, 'processing', at.queue)),
          a.at ~= '' and throttler_views.throttler_view(step, a.at, tonumber(args[4])) or {}, open,
          base.int_text(is_timed and not (p and clocks.has_begun(p)) and f.clock.start_by or 0),
          base.int_text(is_timed and f.clock.finish_by or 0), #parents, #parents > 0 and f.need or 0, met, groups_open,
          leaves and f.group or ''}
end
end
do  -- calls/get.lua





function calls.get(step)
  local args = step.args
  local id = args[3]
  local record = call('HGET', step.keys.jobs, id)
  if not record then
    if call('HEXISTS', step.keys.quarantine, id) == 1 then return {id} end
    return {}
  end
  local at = places.place_of(step, id, record) or {kind = 'lost', score = '0'}
  local f, told = step.has_flow and flow.flow_of(step, id), {}
  if f then
    local clock = f.clock or {start_by = 0, finish_by = 0}
    told = {f.group or '', f.key or '', base.int_text(clock.start_by), base.int_text(clock.finish_by)}
    for _, parent in ipairs(f.parents or {}) do told[#told + 1], told[#told + 2] = parent.id, parent.state end
  end
  return {id, at.kind, at.score, record, call('HGET', step.keys.history, id) or '',
          places.run_told(step, id, at.kind),
          call('HGET', step.keys.admission, id) or '', told}
end
end
do  -- calls/groups.lua



function calls.groups(step)
  local args = step.args
  local names = {args[3]}
  if args[3] == '' then
    names = call('HKEYS', step.keys.group_counts)
    table.sort(names, lists.by_bytes)
  end
  local answer = {}
  for _, name in ipairs(names) do
    if (args[3] ~= '' or lists.by_bytes(args[4], name)) and #answer < 4 * tonumber(args[5]) then
      groups.tell_group(step, name, answer)
    end
  end
  return answer
end
end
do  -- calls/heartbeat.lua


function calls.heartbeat(step)
  local args = step.args
  base.say_layout(step)
  local before = call('HGET', step.keys.servers, args[3])
  local first = before and match(before, '^%d+ (%d+) ') or step.now_text
  call('HSET', step.keys.servers, args[3], step.now_text .. ' ' .. first .. ' ' .. args[4])
  for i = 5, #args do places.mark_served(step, args[i]) end
  return before and 1 or 0
end
end
do  -- calls/holders.lua




function calls.holders(step)
  local args = step.args
  local answer, after, after_place = {}, tonumber(args[5]), args[6]
  for _, h in ipairs(throttler_views.all_holders(step, args[3])) do

    local n, place = #answer, format('%016d', h.fence) .. h.id
    if n >= 5 * tonumber(args[4]) then break end
    if not after or h.since > after or (h.since == after and lists.by_bytes(after_place, place)) then
      answer[n + 1], answer[n + 2], answer[n + 3] = h.id, base.int_text(h.fence), h.is_reserved
      answer[n + 4], answer[n + 5] = paging.exact(h.since), place
    end
  end
  return answer
end
end
do  -- calls/list.lua









local function without_args(record)
  local _, at = values.queue_at(record)
  local from, length, digit = at, 0, 1
  while at do
    local n = byte(record, at)
    if not n then return '' end
    at, length, digit = at + 1, length + n % 128 * digit, digit * 128
    if n < 128 then return sub(record, 1, from - 1) .. '\0' .. sub(record, at + length, -5) end
  end
  return ''
end
local function without_result(value)
  local p = values.read_history(value)
  if not p or p.result == '' then return value end
  p.result = ''
  return values.write_history(p)
end

function calls.list(step)
  local args = step.args
  local limit, after_score, after_id = tonumber(args[4]), tonumber(args[5]), args[6]
  local with_args = args[7] == '1'
  local all = args[3] ~= '' and {args[3]} or call('SMEMBERS', step.keys.queues)
  local has_instants = {scheduled = true, succeeded = true, failed = true, deleted = true}

  local function lines_in(state)
    local lines = {}
    for _, queue in ipairs(all) do
      if state == 'enqueued' then
        for _, kind in ipairs({'front', 'ready', 'suspect'}) do
          lines[#lines + 1] = {kind, places.line(step, kind, queue)}
        end
        for _, name in ipairs(call('SMEMBERS', places.types_of(step, queue))) do
          lines[#lines + 1] = {'type:' .. name, places.type_line(step, queue, name)}
        end
      else
        lines[#lines + 1] = {state, places.line(step, state, queue)}
      end
    end
    return lines
  end

  local function lines_with_jobs(state, newest_first)
    local lines, found = lines_in(state), {}
    local from, to = '-inf', '+inf'
    if has_instants[state] then from, to = args[8], args[9] end
    for _, l in ipairs(lines) do
      found[#found + 1] = paging.page(l[2], newest_first, from, to, after_score, after_id, limit, #lines)
      found[#found].kind = l[1]
    end
    return paging.merged(found)
  end

  local answer, count, bytes, read = {}, 0, 0, 0
  for s = 10, #args, 2 do
    local lines = lines_with_jobs(args[s], args[s + 1] == '1')
    while #lines > 0 and count < limit do
      local l, n = lines[1], #answer
      local record, before = call('HGET', step.keys.jobs, l.id) or '',
        call('HGET', step.keys.history, l.id) or ''
      read = read + #record + #before
      if not with_args then record, before = without_args(record), without_result(before) end
      bytes = bytes + #record + #before
      if n > 0 and (bytes > constants.max_answer_bytes or read > 4 * constants.max_answer_bytes) then
        answer[n + 1] = 1
        return answer
      end
      answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = args[s], l.id, l.kind, l.place
      answer[n + 5], answer[n + 6], answer[n + 7] = record, before, places.run_told(step, l.id, l.kind)
      count = count + 1
      paging.go_on(lines)
    end
    if count >= limit then break end
    after_score, after_id = nil, nil
  end
  return answer
end
end
do  -- calls/lock.lua







local int_text = base.int_text

function calls.lock(step)
  local args = step.args
  local what, resource, fence, lease = args[3], args[4], args[5], args[6]
  base.sorted(step, step.keys.lock_ends)
  local until_ = tonumber(call('ZSCORE', step.keys.lock_ends, resource) or '0')
  local held = values.read_lock(call('HGET', step.keys.locks, resource)) or
    {fence = '', lease = '', token = '', holder = ''}
  local function write(l, length)
    l.lease, until_ = length, step.now + length
    call('HSET', step.keys.locks, resource, l.fence .. ' ' .. l.lease .. ' ' .. values.text(l.token) .. l.holder)
    call('ZADD', step.keys.lock_ends, int_text(until_), resource)
  end
  local function answer(code)
    if until_ <= step.now then return {code} end
    return {code, held.fence, int_text(until_), int_text(until_ - step.now), held.holder}
  end

  if what == 'take' then
    if until_ <= step.now then
      held = {fence = int_text(numbers.draw(step, 1)), token = args[7], holder = args[8]}
      base.say_layout(step)
      write(held, lease)
      hints.finish(step)
      return answer(0)
    end
    if held.lease ~= '' and until_ > step.now + held.lease + constants.clock_slack then write(held, held.lease) end
    return answer(held.fence ~= '' and held.token == args[7] and 0 or 2)
  elseif what == 'renew' then
    if held.fence ~= fence then return answer(1) end
    write(held, lease)
    return answer(0)
  elseif what == 'release' then
    if held.fence ~= fence then return answer(until_ > step.now and 1 or 0) end
    call('HDEL', step.keys.locks, resource)
    call('ZREM', step.keys.lock_ends, resource)
    return {0}
  end
  return answer(0)
end
end
do  -- calls/locks.lua




function calls.locks(step)
  local args = step.args
  local answer = {}
  local after = tonumber(args[4])
  if after and after <= step.now then after = nil end  -- all up to there have ended, and there may be many
  local held = paging.merged({paging.page(step.keys.lock_ends, false, '(' .. step.now_text, '+inf', after, args[5],
                                          tonumber(args[3]), 1)})
  while #held > 0 and #answer < 5 * tonumber(args[3]) do
    local n, resource, left = #answer, held[1].id, held[1].score - step.now
    if left > 0 then  -- others have ended since the page before
      answer[n + 1], answer[n + 2], answer[n + 5] = resource, paging.exact(held[1].score),
        base.int_text(math.min(left, base.longest))
      local l = values.read_lock(call('HGET', step.keys.locks, resource)) or {fence = '', holder = ''}
      answer[n + 3], answer[n + 4] = l.fence, l.holder
    end
    paging.go_on(held)
  end
  return answer
end
end
do  -- calls/log_action.lua






local newest = 10

function calls.log_action(step)
  local args = step.args
  local last = call('ZRANGE', step.keys.operator_log, '(' .. base.int_text(base.longest), '-inf', 'BYSCORE',
                          'REV', 'LIMIT', 0, newest, 'WITHSCORES')
  local a, before = nil, nil  -- before: what stands there of an act that this is added to
  for i = 1, #last, 2 do
    local one = not before and values.read_action(last[i])
    if one and one.name == args[3] and one.through == args[4] and one.what == args[5] and step.now >= one.at and
       step.now - one.at < constants.joined_within then
      a, before = one, last[i]
    end
  end
  if not before then
    a = {number = math.max(step.now, math.floor(tonumber(last[2] or '0')) + 1), at = step.now, count = 0,
         name = args[3], through = args[4], what = args[5], named = {}}
  end
  a.until_, a.count = step.now, math.min(a.count + tonumber(args[6]), base.longest)
  for i = 7, math.min(#args, 6 + constants.max_about - #a.named) do a.named[#a.named + 1] = args[i] end
  local value = values.write_action(a)
  base.say_layout(step)
  call('ZADD', step.keys.operator_log, base.int_text(a.number), value)
  if before and value ~= before then call('ZREM', step.keys.operator_log, before) end
  local over = math.min(call('ZCARD', step.keys.operator_log) - constants.max_actions, 100)
  if over > 0 then
    call('ZREM', step.keys.operator_log, unpack(call('ZRANGE', step.keys.operator_log, 0, over - 1)))
  end
  return 'OK'
end
end
do  -- calls/mark.lua


function calls.mark(step)
  call('SET', step.keys.number_key, call('GET', step.keys.number_key) or '0')
  return 'OK'
end
end
do  -- calls/members.lua



function calls.members(step)
  local args = step.args
  return call('ZRANGE', keys.members(step, args[3]), args[4], args[5], 'BYSCORE', 'LIMIT', args[6], args[7])
end
end
do  -- calls/move_to_quarantine.lua




function calls.move_to_quarantine(step)
  local args = step.args
  local id = args[3]
  local record, before = call('HGET', step.keys.jobs, id) or '', call('HGET', step.keys.history, id) or ''
  if record == args[4] and (args[5] == '' or before == args[5]) then
    local at = places.place_of(step, id, record)
    if at and at.kind == 'scheduled' then base.sorted(step, step.keys.due) end
    endings.move_to_quarantine(step, id, at and at.key, at and at.queue or values.queue_of(record) or 'default')
    if at and at.kind == 'scheduled' then places.refresh_due(step, at.queue) end
  end
  return hints.finish(step)
end
end
do  -- calls/open.lua



function calls.open(step)
  if call('GET', step.keys.schema) then return 'OK' end
  call('SET', step.keys.schema, base.layout)
  return 'MADE'
end
end
do  -- calls/operator_log.lua



function calls.operator_log(step)
  local args = step.args
  local answer = {}
  local all = paging.merged({paging.page(step.keys.operator_log, true, '-inf', '+inf', tonumber(args[4]), args[5],
                                         tonumber(args[3]), 1)})
  while #all > 0 and #answer < 2 * tonumber(args[3]) do
    local n = #answer
    answer[n + 1], answer[n + 2] = paging.exact(all[1].score), all[1].id
    paging.go_on(all)
  end
  return answer
end
end
do  -- calls/parents.lua




function calls.parents(step)
  local args = step.args
  local answer, bytes = {}, 0
  local f = flow.flow_of(step, args[3])
  for _, parent in ipairs(f and f.parents or {}) do
    local g = groups.group_in(parent.id) and groups.group_of(step, groups.group_in(parent.id))
    local record = not g and call('HGET', step.keys.jobs, parent.id)
    local at = record and places.place_of(step, parent.id, record)
    local kind = g and (continuations.words_of_ends[groups.end_of_group(g)] or 'processing') or at and at.kind or ''
    local p = values.read_history(call('HGET', step.keys.history, parent.id))
    local n = #answer
    answer[n + 1], answer[n + 2] = parent.id, parent.state
    local result = p and p.result or ''
    bytes = bytes + #result
    local is_cut = bytes > constants.max_answer_bytes
    answer[n + 3], answer[n + 4], answer[n + 5] = kind, is_cut and '' or result, is_cut and 1 or 0
  end
  return answer
end
end
do  -- calls/pause.lua



function calls.pause(step)
  local args = step.args

  local known = call('SISMEMBER', step.keys.queues, args[3]) + call('SISMEMBER', step.keys.paused, args[3])
  if args[4] == '0' and known == 0 then return {0, ''} end
  base.say_layout(step)
  call('SADD', step.keys.queues, args[3])
  local changed
  if args[4] == '1' then
    changed = call('SADD', step.keys.paused, args[3])
  else
    changed = call('SREM', step.keys.paused, args[3])
    for _, resource in ipairs(call('ZRANGE', step.keys.waiting, 0, 99)) do
      if call('SISMEMBER', keys.waits(step, resource), args[3]) == 1 then
        waiting.reconcile_line(step, resource)
      end
    end
    hints.has_work(step, args[3])
    hints.has_work(step, '@')  -- lines of windows that stood still
  end
  return {changed, hints.finish(step)}
end
end
do  -- calls/progress.lua




local many = lists.many

function calls.progress(step)
  local args = step.args
  local ids, codes, changed, marked = {}, {}, {}, {}
  for i = 3, #args, 3 do ids[#ids + 1] = args[i] end
  local rows, histories = many('HMGET', step.keys.runs, ids), many('HMGET', step.keys.history, ids)
  for i, id in ipairs(ids) do
    local run = rows[i] and values.read_run(rows[i])
    local p = values.read_history(histories[i])
    codes[i] = '1'
    if run and p and run.fence == args[3 * i + 1] then
      codes[i] = values.is_asked_to_end(run) and '2' or '0'
      p.reported = args[3 * i + 2]
      changed[#changed + 1] = id
      changed[#changed + 1] = values.write_history(p)
      if values.has_no_history(run) then
        run.has = values.has_with_history[run.has]
        marked[#marked + 1] = id
        marked[#marked + 1] = values.write_run(run)
      end
    end
  end
  many('HSET', step.keys.history, changed)
  many('HSET', step.keys.runs, marked)
  return table.concat(codes)
end
end
do  -- calls/promote.lua





local int_text = base.int_text
local many = lists.many

local max_open = 10000    -- lines looked at, those that stand still included
local max_owing = 250     -- of the agenda


local function go_on_with(step, owing)
  local ended, over, unknown, any_again = {}, {}, {}, false
  local words = {}
  for i, member in ipairs(owing) do
    local what, letter, id = match(member, '^(%l+) (.) (.*)$')
    words[i] = {what or '', letter, id}
    if what == 'again' then
      continuations.go_on_again(step, id)
      any_again = true
    end
  end
  for i, word in ipairs(any_again and {} or words) do
    local what, letter, id = unpack(word)
    if what == 'edges' then
      flow.owes_no_more(step, owing[i])  -- nobody may wait for it any more
      ended[#ended + 1] = {id, letter}
    elseif what == 'expire' then over[#over + 1] = id
    elseif what == 'key' then unique_keys.sweep_key(step, id)
    elseif what == 'seal' then groups.cancel_unsealed(step, sub(id, 2), ended)
    elseif what == 'cancel' then groups.cancel_members(step, sub(id, 2), ended)
    elseif what == 'forget' then groups.forget_group(step, sub(id, 2), continuations.may_be_forgotten(step, id))
    else unknown[#unknown + 1] = owing[i] end
  end
  if #over > 0 then clocks.plan_expiry(step, over, ended) end
  if not any_again then
    continuations.plan_ends(step, ended)
    continuations.reduce_quarantined(step, ended)
  end
  totals.keep_totals(step, step.job_counts)
  continuations.carry_out_ends(step)
  many('ZREM', step.keys.agenda, unknown)
end
local function before(a, b) return a.at < b.at or (a.at == b.at and lists.by_bytes(a.id, b.id)) end
local function first_of(key) return tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) end


local function begin_promote(args)
  return {limit = tonumber(args[3]), reservation_lasts = tonumber(args[4]),
          open = {}, still = {}, lines_read = 0,  -- limiters with a line to look at, lines that stand still
          queues = {}, found = {}, moved = 0,     -- whose scheduled jobs are due, these jobs, and how many of them move
          lapsed = {}}                            -- of `reserved`
end



local function look_at_lines(step, due)
  local seen, open_lines = {}, 0
  while open_lines < due.limit and due.lines_read < max_open do
    local some = call('ZRANGE', step.keys.next_checks, '-inf', step.now_text, 'BYSCORE', 'LIMIT', due.lines_read,
                      due.limit)
    for _, resource in ipairs(some) do
      if open_lines == due.limit then break end
      if waiting.has_runnable_waiter(step, resource) then
        local limiter = admissions.limiter_of(resource)
        open_lines = open_lines + 1
        if not seen[limiter] then due.open[#due.open + 1] = limiter end
        seen[limiter] = true
      else
        due.still[#due.still + 1] = resource
      end
    end
    due.lines_read = due.lines_read + #some
    if #some < due.limit then break end
  end
end


local function read_part(step, due, part, share)
  local rows = call('ZRANGE', places.line(step, 'scheduled', part.queue), '-inf', step.now_text, 'BYSCORE', 'LIMIT',
                    part.read, share, 'WITHSCORES')
  for i = 1, #rows, 2 do
    part.last = {id = rows[i], at = tonumber(rows[i + 1]), queue = part.queue}
    due.found[#due.found + 1] = part.last
  end
  part.read, part.ended = part.read + #rows / 2, #rows < 2 * share
end

local function find_scheduled(step, due)
  due.queues = call('ZRANGE', step.keys.due, '-inf', step.now_text, 'BYSCORE')
  local found, parts = due.found, {}
  for i, queue in ipairs(due.queues) do parts[i] = {queue = queue, read = 0} end
  local share = math.ceil(due.limit / math.max(1, #due.queues)) + 1
  while #parts > 0 do
    for _, part in ipairs(parts) do read_part(step, due, part, share) end
    if #due.queues > 1 then table.sort(found, before) end
    local last, unread = found[due.limit], {}
    for _, part in ipairs(parts) do
      if not part.ended and (not last or before(part.last, last)) then unread[#unread + 1] = part end
    end
    parts, share = unread, 2 * share
  end
  due.moved = math.min(#found, due.limit)
end
local function move_scheduled(step, due)
  local ids, leaving, entering = {}, lists.grouped(), lists.grouped()
  for i = 1, due.moved do ids[i] = due.found[i].id end
  local histories = many('HMGET', step.keys.history, ids)
  local place = numbers.draw(step, due.moved)
  for i = 1, due.moved do
    local f = due.found[i]
    local p = values.read_history(histories[i]) or {losses = 0}  -- who claims it will see that it cannot be read
    hints.has_work(step, f.queue)
    lists.add_one(leaving, base.sorted(step, places.line(step, 'scheduled', f.queue)), f.id)
    lists.add_two(entering, base.sorted(step, places.tail(step, f.queue, p.losses)), int_text(place + i - 1), f.id)
  end
  lists.each_list(entering, 'ZADD')
  lists.each_list(leaving, 'ZREM')
end

local function find_lapsed(step, due)
  local last_lapsed = int_text(step.now - due.reservation_lasts)
  due.lapsed = call('ZRANGE', step.keys.reserved, '-inf', last_lapsed, 'BYSCORE', 'LIMIT', 0, due.limit)
end

local function pass_on_lapsed(step, member)
  local resource, behind = values.text_at(member, 1)
  local id = resource and sub(member, behind)
  local a = id and admissions.admission_of(step, id)
  call('ZREM', step.keys.reserved, member)
  if not a or not admissions.has_permit(a, resource) then return end
  admissions.remove_entries(step, resource, {id})
  local b = admissions.copy_of(a)
  b.held = {}
  for _, r in ipairs(a.held) do
    if r ~= resource then b.held[#b.held + 1] = r end
  end
  local place = places.place_of(step, id, call('HGET', step.keys.jobs, id))
  if place and places.is_enqueued(place.kind) then
    b.arrival, b.at = numbers.draw(step, 1), resource
    call('ZREM', place.key, id)
    waiting.enqueue_waiter(step, id, place.queue, resource, b.arrival)
  end
  call('HSET', step.keys.admission, id, admissions.write_admission(b))
  waiting.pass_on(step, resource)
end

local function go_on_with_agenda(step)
  local owing = step.has_flow and call('ZRANGE', step.keys.agenda, '-inf', step.now_text, 'BYSCORE', 'LIMIT', 0,
                                       max_owing) or {}
  if #owing > 0 then
    numbers.keep_number(step)  -- what is due was moved, whatever stands in the way of this
    go_on_with(step, owing)
  end
end

local function sooner(step, due, instant)
  due.next_in = math.min(due.next_in or base.longest, math.max(0, instant - step.now))
end

local function look_ahead(step, due)
  local first_due, first_reserved = first_of(step.keys.due), first_of(step.keys.reserved)
  if first_due then sooner(step, due, first_due) end
  if first_reserved then sooner(step, due, first_reserved + due.reservation_lasts) end

  if #due.still > 0 and due.lines_read >= max_open then sooner(step, due, step.now) end
  local owed_next = step.has_flow and first_of(step.keys.agenda)
  if owed_next then sooner(step, due, owed_next) end

  if #due.open > 0 then sooner(step, due, step.now + constants.recheck_interval) end
  local coming = call('ZRANGE', step.keys.next_checks, '(' .. step.now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1,
                      'WITHSCORES')
  if coming[2] then sooner(step, due, tonumber(coming[2])) end
end

function calls.promote(step)
  local due = begin_promote(step.args)
  look_at_lines(step, due)
  find_scheduled(step, due)
  find_lapsed(step, due)
  if due.moved + #due.lapsed > 0 then numbers.may_draw(step) end
  if due.moved > 0 then move_scheduled(step, due) end
  for _, queue in ipairs(due.queues) do places.refresh_due(step, queue) end
  for _, member in ipairs(due.lapsed) do pass_on_lapsed(step, member) end
  many('ZREM', step.keys.next_checks, due.still)
  go_on_with_agenda(step)
  local hint = hints.finish(step)
  look_ahead(step, due)
  local schedule_due = first_of(step.keys.firing)
  return {due.moved, due.next_in and int_text(due.next_in) or '', hint, due.open,
          schedule_due and int_text(math.min(base.longest, math.max(0, schedule_due - step.now))) or ''}
end
end
do  -- calls/prune.lua






local int_text = base.int_text
local many = lists.many

local max_looked = 20000   -- in all queues together
local max_measured = 1000  -- in one step
local bytes_a_job = 200    -- of rows and lines, besides what it holds
local function weight_of(step, kind, id)
  if kind == 'quarantined' then return bytes_a_job + call('HSTRLEN', step.keys.quarantine, id) end
  return bytes_a_job + call('HSTRLEN', step.keys.jobs, id) + call('HSTRLEN', step.keys.history, id)
end



local lock_kept = 86400000000



local max_names, max_unused, unused_for = 500, 100, 7 * 24 * 60  -- the last in minutes
local function is_unused(step, queue)
  if call('SISMEMBER', step.keys.paused, queue) == 1 then return false end
  if (tonumber(call('ZSCORE', step.keys.served, queue) or '0') or 0) >= step.now then return false end
  local _, its_keys = places.lines_of(step, queue)
  for _, key in ipairs(its_keys) do
    if call('ZCARD', key) > 0 then return false end
  end
  return true
end

local function look_before_writing(step)
  for _, key in ipairs({step.keys.jobs, step.keys.history, step.keys.locks, step.keys.servers, step.keys.claims,
                        step.keys.total_sizes, step.keys.totals, step.keys.totals_before, step.keys.kept_bytes,
                        step.keys.quarantine, step.keys.schedules}) do
    call('HLEN', key)
  end
  for _, key in ipairs({step.keys.lock_ends, step.keys.due, step.keys.ending, step.keys.served}) do
    base.sorted(step, key)
  end
  if step.has_flow then call('HLEN', step.keys.flow) end
end

local function begin_prune(step)
  local args = step.args
  local p = {limit = tonumber(args[3]), max_bytes = tonumber(args[5]), removed = 0, more = 0,
             queues = call('SMEMBERS', step.keys.queues),
             measured = {},       -- by field of `kept_bytes`, as it stands there
             left_to_measure = max_measured,
             lines_by_kind = {},  -- of each kind its size and bytes, and a line for each of the queues
             now_minute = math.floor(step.now / 60000000), unused = {}, begun = {}}
  local rows = call('HGETALL', step.keys.kept_bytes)
  for i = 1, #rows, 2 do p.measured[rows[i]] = rows[i + 1] end
  return p
end


local function those_behind(p, m)
  local from = m.up_to and '(' .. int_text(m.up_to) or '-inf'
  return call('ZRANGE', m.key, from, '+inf', 'BYSCORE', 'LIMIT', 0, p.left_to_measure, 'WITHSCORES')
end



local function measure(step, p, kind, queue)
  local m = {kind = kind, key = places.line(step, kind, queue), field = kind .. ':' .. queue, count = 0, bytes = 0}
  m.size = call('ZCARD', m.key)
  if m.size == 0 then return m end
  local up_to, count, bytes = match(p.measured[m.field] or '', '^(%d+) (%d+) (%d+)$')
  if up_to and math.max(up_to, count, bytes) <= base.longest then
    m.up_to, m.count, m.bytes = tonumber(up_to), tonumber(count), tonumber(bytes)
  end
  local new = those_behind(p, m)
  if #new < 2 * p.left_to_measure then
    local left = m.size - #new / 2
    if left < m.count * 7 / 8 or (left > 0 and m.count == 0) then
      m.up_to, m.count, m.bytes = nil, 0, 0
      new = those_behind(p, m)
    elseif left ~= m.count then
      m.count, m.bytes = left, math.floor(m.bytes * left / m.count)
    end
  end
  for i = 1, #new, 2 do m.bytes = m.bytes + weight_of(step, kind, new[i]) end
  if #new > 0 then m.up_to = math.max(0, math.min(math.floor(tonumber(new[#new])), base.longest)) end
  m.count, p.left_to_measure = m.count + #new / 2, p.left_to_measure - #new / 2
  if p.left_to_measure == 0 and m.count < m.size then p.more = 1 end
  return m
end
local function measure_all(step, p)
  for _, kind in ipairs({'failed', 'succeeded', 'deleted', 'quarantined'}) do
    local its = {size = 0, bytes = 0}
    p.lines_by_kind[kind] = its
    for i, queue in ipairs(p.queues) do
      its[i] = measure(step, p, kind, queue)
      its.size, its.bytes = its.size + its[i].size, its.bytes + its[i].bytes
    end
  end
end


local function begin_removal(step, p, k, kind)
  local age, keep = tonumber(step.args[4 + 2 * k]), tonumber(step.args[5 + 2 * k])
  local its = p.lines_by_kind[kind]
  return {kind = kind, lines = its, age = age, excess = keep and math.max(0, its.size - keep) or 0,
          excess_bytes = its.bytes - p.max_bytes, oldest_kept = age and step.now - age or -math.huge,
          weights = {}, gone = {}}
end
local function weight_in(step, r, o)
  r.weights[o.id] = r.weights[o.id] or weight_of(step, r.kind, o.id)
  return r.weights[o.id]
end

local function oldest_of(r, slice)
  local old, whole_until = {}, math.huge
  for _, m in ipairs(r.lines) do
    local rows = {}
    if r.excess > 0 or r.excess_bytes > 0 then
      rows = call('ZRANGE', m.key, 0, slice - 1, 'WITHSCORES')
    elseif m.size > 0 then
      rows = call('ZRANGE', m.key, '-inf', '(' .. int_text(r.oldest_kept), 'BYSCORE', 'LIMIT', 0, slice,
                  'WITHSCORES')
    end
    if #rows == 2 * slice then whole_until = math.min(whole_until, tonumber(rows[#rows])) end
    for i = 1, #rows, 2 do old[#old + 1] = {id = rows[i], at = tonumber(rows[i + 1]), line = m} end
  end
  table.sort(old, function(a, b) return a.at < b.at end)
  return old, whole_until
end


local function choose(step, p, r, old, whole_until, can_grow)
  local has_more = false
  local bytes = 0  -- of those met: who must stay is no reason to remove another in its place
  r.gone = {}
  if step.has_flow then
    local names = {}
    for i, o in ipairs(old) do names[i] = o.id end
    flow.read_flows(step, names)
  end
  for i, o in ipairs(old) do
    local is_over = i <= r.excess or bytes < r.excess_bytes
    if #r.gone == p.limit or (o.at >= r.oldest_kept and not is_over) then break end
    if o.at > whole_until then
      has_more = true
      if can_grow or o.at >= r.oldest_kept then break end
    end
    if r.excess_bytes > 0 then bytes = bytes + weight_in(step, r, o) end
    if step.has_flow and not continuations.may_be_forgotten(step, o.id) then
      has_more = true
    else
      r.gone[#r.gone + 1] = o
    end
  end
  return has_more
end
local function find_gone(step, p, r)
  local slice = p.limit
  repeat
    local old, whole_until = oldest_of(r, slice)
    local can_grow = whole_until < math.huge and 4 * slice * #p.queues <= max_looked
    local has_more = choose(step, p, r, old, whole_until, can_grow)
    slice = slice * 4
  until not (has_more and can_grow and #r.gone < p.limit)
end
local function remove_gone(step, p, r)
  local ids, leaving = {}, lists.grouped()
  for i, o in ipairs(r.gone) do
    local m = o.line
    ids[i] = o.id
    lists.add_one(leaving, m.key, o.id)
    if m.up_to and o.at <= m.up_to then
      m.count, m.bytes = math.max(0, m.count - 1), math.max(0, m.bytes - weight_in(step, r, o))
    end
    m.size = m.size - 1
  end
  if step.has_flow then continuations.forget_flow(step, ids) end
  lists.each_list(leaving, 'ZREM')
  many('HDEL', step.keys.jobs, ids)
  many('HDEL', step.keys.history, ids)
  p.removed = p.removed + #ids
  if #ids == p.limit then p.more = 1 end
end


local function write_measured(step, p)
  local changed = {}
  for _, its in pairs(p.lines_by_kind) do
    for _, m in ipairs(its) do
      local row = m.size > 0 and m.up_to and int_text(m.up_to) .. ' ' .. int_text(m.count) .. ' ' .. int_text(m.bytes)
      if row and row ~= p.measured[m.field] then changed[#changed + 1], changed[#changed + 2] = m.field, row end
      if row then p.measured[m.field] = nil end
    end
  end
  many('HSET', step.keys.kept_bytes, changed)
  local over_now = {}
  for field in pairs(p.measured) do over_now[#over_now + 1] = field end
  many('HDEL', step.keys.kept_bytes, over_now)
end

local function forget_locks(step, p)
  local over = call('ZRANGE', step.keys.lock_ends, '-inf', int_text(step.now - lock_kept), 'BYSCORE', 'LIMIT', 0,
                    p.limit)
  many('HDEL', step.keys.locks, over)
  many('ZREM', step.keys.lock_ends, over)
  if #over == p.limit then p.more = 1 end
end


local function idle_queues(p)
  local idle = {}
  for i, queue in ipairs(p.queues) do
    local jobs_kept = 0
    for _, its in pairs(p.lines_by_kind) do jobs_kept = jobs_kept + its[i].size end
    if jobs_kept == 0 then idle[#idle + 1] = queue end
  end
  return idle
end

local function look_at_names(step, p)
  local idle, first_name = idle_queues(p), p.now_minute * max_names
  for i = 1, math.min(#idle, max_names) do
    local queue = idle[(first_name + i) % #idle + 1]
    local minute, t = totals.read_last(call('HGET', step.keys.totals, queue) or '')
    if not t then
      p.begun[#p.begun + 1], p.begun[#p.begun + 2] = queue, int_text(p.now_minute) .. ' 0 0 0 0 0 0'
    elseif minute <= p.now_minute - unused_for and #p.unused < max_unused and is_unused(step, queue) then
      p.unused[#p.unused + 1] = {name = queue, minute = minute, totals = t}
    end
  end

  if #p.unused > 0 and call('HLEN', step.keys.schedules) > 0 then
    local named, others = table.concat(call('HVALS', step.keys.schedules), ' '), {}
    for _, u in ipairs(p.unused) do
      if not string.find(named, u.name, 1, true) then others[#others + 1] = u end
    end
    p.unused = others
  end
end
local function forget_names(step, p)
  totals.end_minutes(step, p.unused, p.now_minute)
  many('HSET', step.keys.totals, p.begun)
  if #p.unused == 0 then return end
  local names, _, sum = {}, totals.read_last(call('HGET', step.keys.totals, '') or '')
  sum = sum or {0, 0, 0, 0, 0, 0}
  for i, u in ipairs(p.unused) do
    names[i] = u.name
    for k = 1, 6 do sum[k] = sum[k] + u.totals[k] end
    call('DEL', places.types_of(step, u.name))
  end
  call('HSET', step.keys.totals, '', '0 ' .. totals.write_totals(sum))
  for _, key in ipairs({step.keys.totals, step.keys.totals_before}) do many('HDEL', key, names) end
  for _, key in ipairs({step.keys.due, step.keys.ending, step.keys.served}) do many('ZREM', key, names) end
  many('SREM', step.keys.queues, names)
  if #p.unused == max_unused then p.more = 1 end
end

local function forget_silent_servers(step)
  local silent = tonumber(step.args[4])
  if not silent then return end
  local gone = {}
  local rows = call('HGETALL', step.keys.servers)
  for i = 1, #rows, 2 do
    local beat = tonumber(match(rows[i + 1], '^(%d+) ') or '0')
    if beat < step.now - silent then
      gone[rows[i]] = true
      call('HDEL', step.keys.servers, rows[i])
    end
  end
  if next(gone) then gone_servers.forget_claims(step, gone) end
end

function calls.prune(step)
  look_before_writing(step)
  local p = begin_prune(step)
  measure_all(step, p)
  for k, kind in ipairs(places.final_kinds) do
    local r = begin_removal(step, p, k, kind)
    if r.age or r.excess > 0 or r.excess_bytes > 0 then
      find_gone(step, p, r)
      remove_gone(step, p, r)
    end
  end
  write_measured(step, p)
  forget_locks(step, p)
  look_at_names(step, p)
  forget_names(step, p)
  forget_silent_servers(step)
  local aside = p.lines_by_kind.quarantined
  return {p.removed, p.more, int_text(aside.size), int_text(aside.bytes)}
end
end
do  -- calls/quarantined.lua



function calls.quarantined(step)
  local args = step.args
  local most = tonumber(args[4])
  local all, pages = args[3] ~= '' and {args[3]} or call('SMEMBERS', step.keys.queues), {}
  for _, queue in ipairs(all) do
    local p = paging.page(places.line(step, 'quarantined', queue), true, '-inf', '+inf', tonumber(args[5]), args[6],
                          most, #all)
    p.queue = queue
    pages[#pages + 1] = p
  end
  local answer = {}
  pages = paging.merged(pages)
  while #pages > 0 and #answer < 3 * most do
    local n, p = #answer, pages[1]
    answer[n + 1], answer[n + 2], answer[n + 3] = p.id, p.queue, paging.exact(p.score)
    paging.go_on(pages)
  end
  return answer
end
end
do  -- calls/quarantined_job.lua



function calls.quarantined_job(step)
  local args = step.args
  local bytes = call('HGET', step.keys.quarantine, args[3])
  if not bytes then return {} end
  local queue, since = endings.place_in_quarantine(step, args[3], bytes)
  return {queue or '', since and base.int_text(tonumber(since)) or '0', bytes}
end
end
do  -- calls/queue_names.lua

function calls.queue_names(step)
  return call('SMEMBERS', step.keys.queues)
end
end
do  -- calls/queues.lua




function calls.queues(step)
  local args = step.args
  local answer, max_named = {}, tonumber(args[3])
  for _, queue in ipairs(call('SMEMBERS', step.keys.queues)) do
    local n, ready, oldest = #answer, 0, nil
    local function look(key)
      local first = tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
      if not first then return 0 end
      local count = call('ZCARD', key)
      ready, oldest = ready + count, math.min(first, oldest or first)
      return count
    end
    for _, kind in ipairs({'ready', 'front', 'suspect'}) do look(places.line(step, kind, queue)) end
    local others, types = ready, {}
    for _, name in ipairs(call('SMEMBERS', places.types_of(step, queue))) do
      local count = look(places.type_line(step, queue, name))
      if count > 0 then types[#types + 1] = {name = name, count = count} end
    end
    table.sort(types, function(a, b)
      if a.count ~= b.count then return a.count > b.count end
      return lists.by_bytes(a.name, b.name)
    end)
    local unknown = {ready - others, #types}
    for i = 1, math.min(#types, max_named) do
      unknown[#unknown + 1], unknown[#unknown + 2] = types[i].name, types[i].count
    end
    answer[n + 1], answer[n + 2], answer[n + 3] = queue, call('SISMEMBER', step.keys.paused, queue), ready
    for i, kind in ipairs({'scheduled', 'throttled', 'processing', 'succeeded', 'failed', 'deleted', 'quarantined',
                           'awaiting'}) do
      answer[n + 3 + i] = call('ZCARD', places.line(step, kind, queue))
    end
    answer[n + 12] = oldest and oldest > 0 and oldest < base.longest and math.floor(oldest) or 0
    answer[n + 13] = unknown
  end
  return answer
end
end
do  -- calls/raise.lua






local layout = base.layout


local raises = {}

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
    local beat, at = match(rows[i + 1], '^(%d+) %d+ %d+ %d+ ()')
    if beat and tonumber(beat) > step.now - alive_within then
      answer[#answer + 1] = values.text_at(rows[i + 1], at) or rows[i]
    end
  end
  if #answer > 1 then return answer end

  for n = from, to - 1 do raises[n](step) end
  call('SET', step.keys.schema, layout)
  return answer
end
end
do  -- calls/read_limiter.lua

function calls.read_limiter(step)
  local args = step.args
  return limiter_records.limiter_record(step, args[3])
end
end
do  -- calls/ready.lua


local line = places.line

function calls.ready(step)
  local args = step.args
  local answer = {}
  for i = 3, #args do
    local queue = args[i]
    for _, key in ipairs({line(step, 'ready', queue), line(step, 'front', queue), line(step, 'suspect', queue),
                          places.types_of(step, queue)}) do
      if call('EXISTS', key) == 1 then
        answer[#answer + 1] = queue
        break
      end
    end
  end
  return answer
end
end
do  -- calls/reap.lua








local many = lists.many

function calls.reap(step)
  local args = step.args
  local ids, codes = {}, {}
  for i = 7, #args, 3 do ids[#ids + 1] = args[i] end
  local rows, histories = many('HMGET', step.keys.runs, ids), many('HMGET', step.keys.history, ids)
  local ended, changed, leaving, entering, broken = {}, {}, lists.grouped(), lists.grouped(), {}
  local finals = step.has_flow and {}  -- jobs that end for good
  local done, is_final, inline_permits = {}, {}, {}  -- inline_permits: see give_back
  for i, id in ipairs(ids) do
    local run = rows[i] and not done[id] and values.read_run(rows[i])
    codes[i] = '1'
    if run and run.fence == args[3 * i + 5] and run.renewals == args[3 * i + 6] then
      codes[i] = '0'
      done[id] = true
      local processing = places.line(step, 'processing', run.queue)
      local p = values.read_history(histories[i])
      if not p then
        endings.may_move_to_quarantine(step, run.queue)
        broken[#broken + 1] = {id = id, key = processing, queue = run.queue}
      else
        p.losses = p.losses + 1
        local is_asked = values.is_asked_to_end(run)
        local final = is_asked and 'deleted' or p.losses >= tonumber(args[3]) and 'failed' or nil
        values.remember(step, p, run.fence, run.attempt, run.started, run.server, is_asked and
                        values.with_first('cancelled', args[6]) or args[6])
        p.reason = is_asked and values.reason_of_cancelled(p) or final and format(args[5], p.losses) or
          format(args[4], run.attempt)
        p.attempt = run.attempt - 1
        ended[#ended + 1] = id
        totals.count_jobs(step, run.queue, 'lost', 1)
        if final then
          totals.count_jobs(step, run.queue, final, 1)
          is_final[id] = true
          codes[i] = is_asked and '3' or '2'
          if finals then finals[#finals + 1] = {id, sub(final, 1, 1)} end
        end
        if not final and step.has_flow then continuations.plan_going_on(step, id, p.attempt == 0, true) end
        if run.permits ~= '' then inline_permits[#ended] = run.permits end
        changed[#changed + 1] = id
        changed[#changed + 1] = values.write_history(p)
        lists.add_one(leaving, base.sorted(step, processing), id)
        if not final then hints.has_work(step, run.queue) end
        local target = final and places.line(step, final, run.queue) or places.tail(step, run.queue, p.losses)
        lists.add_two(entering, base.sorted(step, target), base.int_text(final and step.now or numbers.draw(step, 1)),
                      id)
      end
    end
  end
  local had = endings.admissions_if_any(step, ended)
  if next(inline_permits) or #broken > 0 then admissions.check_throttlers(step) end
  if finals then continuations.plan_ends(step, finals) end
  totals.keep_totals(step, step.job_counts)
  lists.each_list(entering, 'ZADD')
  lists.each_list(leaving, 'ZREM')
  many('HDEL', step.keys.runs, ended)
  many('HSET', step.keys.history, changed)
  if finals then continuations.carry_out_ends(step) end
  for _, b in ipairs(broken) do endings.move_to_quarantine(step, b.id, b.key, b.queue) end
  endings.give_back_if_any(step, ended, had, inline_permits, is_final)
  return {table.concat(codes), hints.finish(step)}
end
end
do  -- calls/reconcile.lua




function calls.reconcile(step)
  local args = step.args
  admissions.check_throttlers(step)
  local limit = math.max(1, tonumber(args[3]))
  local from = args[4] == '' and '-' or '(' .. args[4]
  local found = call('ZRANGE', step.keys.waiting, from, '+', 'BYLEX', 'LIMIT', 0, limit)
  local last_one, more = args[4], #found == limit
  for _, resource in ipairs(found) do
    local got = waiting.reconcile_line(step, resource)
    if got == waiting.max_woken then  -- there may be more in this line
      more = true
      break
    end
    last_one = resource
    if step.woken >= waiting.max_woken then
      more = true
      break
    end
  end
  if step.reopened > 0 then hints.has_work(step, '@') end

  if step.woken == 0 and not lists.by_bytes(args[4], last_one) then more = false end
  return {step.woken, more and last_one or '', hints.finish(step)}
end
end
do  -- calls/renew.lua




function calls.renew(step)
  local args = step.args
  local ids, codes, rows, leases = {}, {}, {}, lists.grouped()
  for i = 4, #args, 2 do ids[#ids + 1] = args[i] end
  local before, run_of = lists.many('HMGET', step.keys.runs, ids), {}
  local until_ = base.int_text(step.now + args[3])
  for i, id in ipairs(ids) do
    local run = run_of[id] or (before[i] and values.read_run(before[i]))
    run_of[id] = run  -- it may be named twice
    codes[i] = '1'
    if run and run.fence == args[2 * i + 3] then
      codes[i] = values.is_asked_to_end(run) and '2' or '0'
      run.lease, run.renewals = args[3], base.int_text(run.renewals + 1)
      rows[#rows + 1] = id
      rows[#rows + 1] = values.write_run(run)
      lists.add_two(leases, base.sorted(step, places.line(step, 'processing', run.queue)), until_, id)
      call('ZADD', step.keys.ending, 'LT', until_, run.queue)
    end
  end
  lists.many('HSET', step.keys.runs, rows)
  lists.each_list(leases, 'ZADD')
  return table.concat(codes)
end
end
do  -- calls/repair.lua





function calls.repair(step)
  return repairing.repair_slice(step)
end
end
do  -- calls/schedule.lua


function calls.schedule(step)
  local args = step.args
  return {step.now_text, call('HEXISTS', step.keys.schedules, args[3]),
          schedule_views.schedule_view(step, args[3]), call('HVALS', step.keys.even_places)}
end
end
do  -- calls/schedules.lua


local by_bytes = lists.by_bytes

function calls.schedules(step)
  local args = step.args
  local limit, after = math.max(1, tonumber(args[3])), args[4]


  local function sorted_behind()
    local names = {}
    for _, name in ipairs(call('HKEYS', step.keys.schedules)) do
      if by_bytes(after, name) then names[#names + 1] = name end
    end
    table.sort(names, by_bytes)
    return names
  end

  local names, last = call('ZRANGE', step.keys.schedule_names, '(' .. after, '+', 'BYLEX', 'LIMIT', 0, limit + 1),
    after
  for _, name in ipairs(names) do
    if not by_bytes(last, name) then names = sorted_behind() break end
    last = name
  end
  local answer = {step.now_text, #names > limit and names[limit] or ''}
  for i = 1, math.min(#names, limit) do
    if call('HEXISTS', step.keys.schedules, names[i]) == 1 then
      answer[#answer + 1] = schedule_views.schedule_view(step, names[i])
    end
  end
  return answer
end
end
do  -- calls/servers.lua

function calls.servers(step)
  return call('HGETALL', step.keys.servers)
end
end
do  -- calls/settle.lua












local int_text, sorted = base.int_text, base.sorted
local many, grouped = lists.many, lists.grouped
local text, with_first = values.text, values.with_first
local line = places.line


local goes_on = {given_back = true, retry = true, deferred = true}


local function read_ends(args)
  local s = {runs = {}, ids = {}, codes = {}, done = {}, ended = {}, changed = {}, by_start = {}, history_ids = {},
             histories = {}, leaving = grouped(), entering = grouped(), earliest = {}}
  local at, n = 4, 0
  for _ = 1, args[3] do
    local group = {how = args[at + 1], failure = args[at + 2], delay = tonumber(args[at + 3]),
                   reports = args[at + 4] == '1'}
    local count = args[at] + 0
    at = at + 5
    for _ = 1, count do
      n = n + 1
      s.ids[n] = args[at]
      s.runs[n] = {id = args[at], fence = args[at + 1], said = args[at + 2], ended_how = args[at + 3], group = group}
      at = at + 4
    end
  end
  return s, at
end

local function read_next_jobs(step, s, at)
  s.carried = tonumber(step.args[at])
  at = at + 1
  for _ = 1, s.carried do
    local run = s.runs[tonumber(step.args[at])]
    run.next_jobs = run.next_jobs or {}
    table.insert(run.next_jobs, at + 1)
    at = flow_jobs.read_new(step, at + 1, at + 1)
  end
  return at
end



local function start_of(step, s, rest)
  local c = s.by_start[rest]
  if c ~= nil then return c end
  local claimed, place = match(rest, '^(%d+) %d+ %d+ %d+ ()')
  local queue, permits
  if claimed then queue, place = values.text_at(rest, place) end
  if queue then permits, place = values.text_at(rest, place) end
  c = false
  if permits then
    local server = sub(rest, place)
    c = {claimed = claimed, queue = queue, permits = permits, server = server, ended = 0, ends = {}, lines = {},
         chain_permit = permits ~= '' and match(permits, '^%d+:chain:%d+:(.*)$'),
         processing = sorted(step, line(step, 'processing', queue)),
         middle = ' ' .. claimed .. ' ' .. step.now_text .. ' ' .. text(server)}
    s.has_permits = s.has_permits or permits ~= ''
  end
  s.by_start[rest] = c
  return c
end

local function look_at_runs(step, s)
  local rows = many('HMGET', step.keys.runs, s.ids)
  for i, run in ipairs(s.runs) do
    local row, fence, has = rows[i], run.fence, nil
    if row and sub(row, 1, #fence + 1) == fence .. ' ' then
      local attempt, flag, rest = match(row, '^(%d+) (%d) (.*)$', #fence + 2)
      if attempt then run.attempt, has, run.start = attempt, flag, start_of(step, s, rest) end
    end
    if has ~= '0' and has ~= '2' then s.history_ids[#s.history_ids + 1] = run.id end
    if has == '2' or has == '3' or has == '7' then
      s.has_admission = s.has_admission or {}
      s.has_admission[run.id] = true
    end
    run.is_asked = has == '5' or has == '7'
  end
  if #s.history_ids == 0 then call('HLEN', step.keys.history) end
  for k, value in ipairs(many('HMGET', step.keys.history, s.history_ids)) do s.histories[s.history_ids[k]] = value end
  if s.has_permits then admissions.check_throttlers(step) end
  if step.has_flow then flow.read_flows(step, s.ids) end

  if step.has_flow or s.carried > 0 then s.finals = {} end
  if s.has_admission then s.is_final = {} end
end


local function target_of(step, s, start, how, delay, losses)
  if (how == 'retry' or how == 'deferred') and delay > 0 then
    sorted(step, step.keys.due)
    hints.has_work(step, '@')
    s.earliest[start.queue] = math.min(s.earliest[start.queue] or step.now + delay, step.now + delay)
    return line(step, 'scheduled', start.queue), int_text(step.now + delay)
  end
  if goes_on[how] then
    hints.has_work(step, start.queue)
    local first = how == 'given_back' and not places.is_suspect(losses)
    return first and line(step, 'front', start.queue) or places.tail(step, start.queue, losses),
           int_text(numbers.draw(step, 1))
  end
  local key = start.lines[how] or line(step, how, start.queue)
  start.lines[how] = key
  return key, step.now_text
end


local function decide_end(step, run, p)
  local how, ended_so, group = run.group.how, run.ended_how, run.group
  if p and run.is_asked and how ~= 'succeeded' then
    how, ended_so = 'deleted', with_first('cancelled', ended_so)
    run.said = with_first(values.reason_of_cancelled(p), run.said)
  end
  local too_late = step.has_flow and how == 'retry' and
                   continuations.is_too_late(step, run.id, step.now + group.delay)
  if too_late then
    how, ended_so = 'failed', with_first('deadline', ended_so)
    run.said = with_first(too_late, run.said)
  end
  if run.next_jobs and how == 'succeeded' then
    local told = {}
    for _, begins in ipairs(run.next_jobs) do told[#told + 1] = flow_jobs.plan_next(step, begins, run.id) end
    if #told > 0 then run.said = with_first(table.concat(told, '; '), run.said) end
  end
  return how, ended_so
end

local function plan_move(step, s, run, how, losses)
  local start = run.start
  lists.add_one(s.leaving, start.processing, run.id)
  if start.chain_permit and how == 'given_back' and not places.is_suspect(losses) then
    sorted(step, line(step, 'throttled', start.queue))
    sorted(step, keys.wait_line(step, start.queue, start.chain_permit))
    call('SCARD', keys.waits(step, start.chain_permit))
    s.returned = s.returned or {}
    table.insert(s.returned, {id = run.id, queue = start.queue, resource = start.chain_permit, fence = run.fence})
  else
    local target, score = target_of(step, s, start, how, run.group.delay, losses)
    lists.add_two(s.entering, sorted(step, target), score, run.id)
  end
end

local function plan_permits(s, run, is_last)
  local start = run.start
  if not s.has_admission then
    if s.has_permits and start.ended == 0 then
      s.alike = s.alike or {}
      table.insert(s.alike, start)
    end
    start.ended = start.ended + 1
    return
  end
  if start.permits ~= '' then
    s.inline_permits = s.inline_permits or {}
    s.inline_permits[#s.ended] = start.permits
  end
  s.is_final[run.id] = is_last
end
local function settle_one(step, s, i, run)
  local id, fence, start, group = run.id, run.fence, run.start, run.group
  local before = s.histories[id]
  local p = before and values.read_history(before)
  if s.done[id] == fence or (p and p.settled == fence and fence ~= '0') then
    s.codes[i] = '2'
    return
  end
  if not start or s.done[id] or fence == '0' then
    s.codes[i] = '1'
    return
  end
  s.codes[i], s.done[id] = '0', fence
  if before and not p then
    endings.may_move_to_quarantine(step, start.queue)
    s.broken = s.broken or {}
    table.insert(s.broken, {id, start.processing, start.queue})
    return
  end
  local losses, attempt = p and p.losses or 0, run.attempt
  local how, ended_so = decide_end(step, run, p)
  local is_uncounted = group.how == 'given_back' or group.how == 'deferred'
  s.ended[#s.ended + 1] = id
  plan_permits(s, run, not goes_on[how])
  if s.finals and not goes_on[how] then s.finals[#s.finals + 1] = {id, sub(how, 1, 1)}
  elseif s.finals then
    continuations.plan_going_on(step, id, is_uncounted and tonumber(attempt) == 1,
                                not is_uncounted or tonumber(attempt) > 1 or losses > 0)
  end
  start.ends[how] = (start.ends[how] or 0) + 1
  plan_move(step, s, run, how, losses)


  local counted = is_uncounted and attempt - 1 or attempt
  local changed, n = s.changed, #s.changed
  changed[n + 1] = id
  if p then
    values.remember(step, p, fence, attempt, start.claimed, start.server, ended_so)
    changed[n + 2] = counted .. ' ' .. losses .. ' ' .. fence .. ' ' .. p.failures + group.failure .. ' ' ..
                     p.n .. ' ' .. run.said .. (group.reports and '' or text(p.reported)) .. p.ended_runs
  else
    changed[n + 2] = counted .. ' 0 ' .. fence .. ' ' .. group.failure .. ' 1 ' .. run.said ..
                     (group.reports and '' or '0:') .. text(fence .. ' ' .. attempt .. start.middle .. ended_so)
  end
end


local function admissions_of_ended(step, s)
  if not s.has_admission then return {} end
  local admitted = {}
  for _, id in ipairs(s.ended) do
    if s.has_admission[id] then admitted[#admitted + 1] = id end
  end
  return endings.admissions_if_any(step, admitted)
end
local function give_permits_back(step, s, had)
  for _, r in ipairs(s.returned or {}) do
    chaining.return_to_line(step, r.id, r.queue, r.resource, r.fence, had[r.id])
    had[r.id] = nil
  end
  if s.alike then waiting.end_alike(step, s.alike) end
  if s.has_admission then endings.give_back_if_any(step, s.ended, had, s.inline_permits or {}, s.is_final) end
  for _, r in ipairs(s.returned or {}) do waiting.pass_on(step, r.resource) end  -- another permit may be free
end
local function write(step, s, had)
  for _, start in pairs(s.by_start) do
    for how, n in pairs(start and start.ends or {}) do totals.count_jobs(step, start.queue, how, n) end
  end
  totals.keep_totals(step, step.job_counts)

  lists.each_list(s.entering, 'ZADD')
  lists.each_list(s.leaving, 'ZREM')
  many('HDEL', step.keys.runs, s.ended)
  many('HSET', step.keys.history, s.changed)
  for queue, instant in pairs(s.earliest) do call('ZADD', step.keys.due, 'LT', int_text(instant), queue) end
  if s.carried > 0 then flow_jobs.write_new(step) end
  if s.finals then continuations.carry_out_ends(step) end
  for _, b in ipairs(s.broken or {}) do endings.move_to_quarantine(step, b[1], b[2], b[3]) end
  if s.has_permits or s.has_admission then give_permits_back(step, s, had) end
end

function calls.settle(step)
  local args = step.args
  local s, at = read_ends(args)
  at = read_next_jobs(step, s, at)
  if #s.runs > 0 then
    look_at_runs(step, s)
    for i, run in ipairs(s.runs) do settle_one(step, s, i, run) end
    local had = admissions_of_ended(step, s)
    if args[at] then numbers.may_draw(step) end  -- for the claim
    if s.carried > 0 then flow_jobs.plan_new_ends(step) end
    if s.finals then continuations.plan_ends(step, s.finals) end
    write(step, s, had)
  end
  local answer = {table.concat(s.codes), ''}
  if args[at] then
    numbers.keep_number(step)  -- the ends are stored, whatever becomes of the claim
    local got = claiming.claim(step, at)
    for i = 1, #got do answer[i + 1] = got[i] end
  end
  answer[2] = hints.finish(step)
  return answer
end
end
do  -- calls/throttler.lua

function calls.throttler(step)
  local args = step.args
  return throttler_views.throttler_view(step, args[3], tonumber(args[4]))
end
end
do  -- calls/throttlers.lua



local by_bytes = lists.by_bytes

function calls.throttlers(step)
  local args = step.args
  local limit, after = math.max(1, tonumber(args[3])), args[4]
  local all, seen = {}, {}
  local function add(resource)
    if seen[resource] then return end
    seen[resource] = true
    all[#all + 1] = resource
  end
  for _, resource in ipairs(call('HKEYS', step.keys.definitions)) do
    if by_bytes(after, resource) then add(resource) end
  end
  for _, key in ipairs(args[5] == '' and {step.keys.busy, step.keys.waiting} or {}) do
    for _, resource in ipairs(call('ZRANGE', key, '(' .. after, '+', 'BYLEX', 'LIMIT', 0, limit + 1)) do
      if by_bytes(after, resource) then add(resource) end  -- it is in order by name while all its scores are alike
    end
  end
  table.sort(all, by_bytes)
  local answer = {#all > limit and all[limit] or ''}
  for i = 1, math.min(#all, limit) do answer[i + 1] = throttler_views.about(step, all[i]) end
  return answer
end
end
do  -- calls/totals.lua





function calls.totals(step)
  local args = step.args
  local name, kind, each = args[3], args[4], tonumber(args[5])
  local answer = {0}
  local oldest = math.floor(step.now / each) - args[6]
  local function add(queue, value)
    local n, minute = #answer, tonumber(match(value or '', '^(%d+) '))
    answer[1] = answer[1] + 1
    answer[n + 1], answer[n + 2] = value or '', call('HGET', step.keys.totals_before, queue) or ''
    answer[n + 3] = minute and math.floor(minute * 60000000 / each) >= oldest and 1 or 0
  end
  if name ~= '' then
    add(name, call('HGET', step.keys.totals, name))
  else
    local all = call('HGETALL', step.keys.totals)
    for i = 1, #all, 2 do add(all[i], all[i + 1]) end
  end
  local function list_at(instant, otherwise) return math.floor((tonumber(instant) or otherwise) / each) end
  local newest = list_at('', step.now)
  for slot = math.max(newest - args[6], list_at(args[7], 0)), math.min(newest + 1, list_at(args[8], step.now + each)) do
    local rows = call('HGET', keys.total_list(step, kind, slot), name)
    if rows then answer[#answer + 1], answer[#answer + 2] = base.int_text(slot), rows end
  end
  return answer
end
end
do  -- calls/undefine.lua



function calls.undefine(step)
  local args = step.args
  admissions.check_throttlers(step)
  local resource = args[3]
  local held, waits_for_it = admissions.held_of(step, resource), 0
  local function count(line_of_it)
    for _, queue in ipairs(call('SMEMBERS', keys.waits(step, line_of_it))) do
      waits_for_it = waits_for_it + call('ZCARD', keys.wait_line(step, queue, line_of_it))
    end
  end
  count(resource)
  for _, key in ipairs(call('ZRANGE', step.keys.waiting, '[' .. resource .. '/', '(' .. resource .. '0',
                                  'BYLEX')) do
    count(key)
  end
  if held + waits_for_it > 0 then return {held, waits_for_it} end

  local version, rest = match(call('HGET', step.keys.limiters, resource) or '0 0:', '^(%d+) (.*)$')
  local is_window = call('HEXISTS', step.keys.definitions, resource) == 1 and
    call('HEXISTS', step.keys.limits, resource) == 0
  if not version then call('HDEL', step.keys.limiters, resource)
  elseif is_window or rest ~= '0:' then call('HSET', step.keys.limiters, resource, base.int_text(version + 1) ..
                                                   ' 0:') end
  for _, key in ipairs({step.keys.definitions, step.keys.configs, step.keys.limits}) do
    call('HDEL', key, resource)
  end
  for _, line_of_it in ipairs(call('ZRANGE', step.keys.next_checks, 0, -1)) do
    if admissions.limiter_of(line_of_it) == resource then call('ZREM', step.keys.next_checks, line_of_it) end
  end
  return {}
end
end
do  -- calls/update_limiter.lua











local function rows_at(args, at, size, count)
  local rows = {}
  for i = 1, count do
    rows[i] = {}
    for k = 1, size do rows[i][k] = args[at + k - 1] end
    at = at + size
  end
  return rows, at
end

local function read_change(args)
  local u, at = {until_ = args[7]}, 8
  u.wakes, at = rows_at(args, at + 1, 2, tonumber(args[at]))
  u.parks, at = rows_at(args, at + 1, 3, tonumber(args[at]))
  u.let_in, at = rows_at(args, at + 1, 2, tonumber(args[at]))
  u.moved = rows_at(args, at, 2, (#args - at + 1) / 2)
  return u
end


local function look_before_writing(step, u)
  if #u.wakes + #u.parks > 0 then numbers.may_draw(step) end
  if step.has_flow then
    call('HLEN', step.keys.flow)
    call('HLEN', step.keys.held_keys)
    base.sorted(step, step.keys.agenda)
  end
  local ids, fences = {}, {}
  for i, one in ipairs(u.parks) do ids[i], fences[i] = one[1], one[2] end
  local asked = cancelling.asked_among(lists.many('HMGET', step.keys.runs, ids), ids, fences)
  if #asked > 0 then cancelling.end_before_begin(step, asked) end
end


local function park_one(step, id, fence, resource, parked)
  local row, a = call('HGET', step.keys.runs, id), admissions.admission_of(step, id) or admissions.no_admission
  local run = row and values.read_run(row)
  if fence == '0' then return 's', '' end
  if run and run.fence == fence then
    waiting.park_run(step, id, run, a, resource, {})
    parked[#parked + 1] = id
    return 'p', resource
  end
  if not row and a.at ~= '' and a.fence == fence then return 'p', a.at end
  return 's', ''
end
local function park_all(step, u)
  local told, parked = {}, {}
  for i, one in ipairs(u.parks) do
    told[2 * i - 1], told[2 * i] = park_one(step, one[1], one[2], one[3], parked)
  end
  if step.has_flow and #parked > 0 then continuations.tell_of_parked(step, parked) end
  return told
end

local function codes_of_let_in(step, u)
  local codes = {}
  for i, one in ipairs(u.let_in) do
    local row = call('HGET', step.keys.runs, one[1])
    codes[i] = row and one[2] ~= '0' and sub(row, 1, #one[2] + 1) == one[2] .. ' ' and '0' or '1'
  end
  return table.concat(codes)
end


local function give_slot(a, resource, until_)
  for i = #a.slots, 1, -1 do
    if a.slots[i].resource == resource then table.remove(a.slots, i) end
  end
  a.slots[#a.slots + 1] = {until_ = until_, resource = resource}
end

local function wake_all(step, u)
  local slots, until_ = 0, tonumber(u.until_)
  for _, one in ipairs(u.wakes) do
    local resource, count = one[1], tonumber(one[2])
    slots = slots + waiting.wake_first(step, resource, count, function(a) give_slot(a, resource, until_) end)
  end
  return slots
end

local function move_checks(step, u)
  for _, one in ipairs(u.moved) do
    local resource, instant = one[1], one[2]


    if instant == '' then instant = waiting.has_runnable_waiter(step, resource) and step.now_text or u.until_ end
    if call('ZSCORE', step.keys.waiting, resource) then
      call('ZADD', step.keys.next_checks, instant, resource)
    else
      call('ZREM', step.keys.next_checks, resource)
    end
  end
  if #u.moved > 0 then hints.has_work(step, '@') end  -- timers look when the next line opens
end

function calls.update_limiter(step)
  local args = step.args
  local name = args[3]
  admissions.check_throttlers(step)
  local version = match(call('HGET', step.keys.limiters, name) or '', '^(%d+) ') or '0'
  if version ~= args[4] or step.now < tonumber(args[6]) or step.now >= tonumber(args[7]) then
    return {0, 0, '', {}, '', limiter_records.limiter_record(step, name)}
  end
  local u = read_change(args)
  look_before_writing(step, u)
  base.say_layout(step)
  call('HSET', step.keys.limiters, name, base.int_text(version + 1) .. ' ' .. values.text(args[5]))
  local told_parks = park_all(step, u)
  local codes = codes_of_let_in(step, u)
  local slots = wake_all(step, u)
  move_checks(step, u)
  return {1, slots, hints.finish(step), told_parks, codes, limiter_records.limiter_record(step, name)}
end
end
do  -- calls/update_schedule.lua











local int_text = base.int_text
local first_run = schedule_views.first_run


local function read_change(args)
  return {name = args[3], version = args[4], record = args[5], next_at = args[6], place = args[7], among = args[8],
          rule = args[9], count = tonumber(args[10]), is_flow = args[11] == '1',
          runs = '', made = 0,  -- the jobs that it made last, as they stand in the schedule, and their number
          going_on = false,     -- one of these is not final
          waits_now = false,    -- one of those does not run
          codes = {}, chosen = {}, at = {}}  -- of its jobs: the letters; by id, those to be enqueued; where these begin
end
local function told(step, s, updated, codes)
  return {updated, step.now_text, call('HEXISTS', step.keys.schedules, s.name),
          schedule_views.schedule_view(step, s.name), codes}
end


local function is_as_read(step, s, before)
  if (before and before.version or '0') ~= s.version then return false end
  if s.among == '' then return true end
  local largest = 0
  for _, one in ipairs(call('HVALS', step.keys.even_places)) do
    largest = math.max(largest, tonumber(match(one, '^%d+ %d+ (%d+)$') or '0'))
  end
  return largest == tonumber(s.among)
end
local function remove(step, s)
  call('HDEL', step.keys.schedules, s.name)
  call('ZREM', step.keys.schedule_names, s.name)
  call('HDEL', step.keys.even_places, s.name)
  call('ZREM', step.keys.firing, s.name)
end


local function occupy(s, kind)
  for _, final in ipairs(places.final_kinds) do
    if kind == final then return end
  end
  s.going_on, s.waits_now = true, s.waits_now or kind ~= 'processing'
end
local function look_at_runs(step, s)
  if s.rule == 'allow' then return end
  local id, rest = first_run(s.runs)
  for _ = 1, s.made do
    if not id then return end
    local its = call('HGET', step.keys.jobs, id)
    local place_now = its and places.place_of(step, id, its)
    if place_now then occupy(s, place_now.kind) end
    id, rest = first_run(rest)
  end
end


local function code_of(step, s, from)
  local id = step.args[from]
  local there = call('HGET', step.keys.jobs, id)
  if s.chosen[id] or there and not places.is_half_stored(step, id, there) then return 't' end
  if s.rule == 'skip' and s.going_on or s.rule == 'queue_one' and s.waits_now then return 'o' end
  if s.is_flow and flow_jobs.plan_new(step, from) ~= 'stored' then return 'o' end
  return 'e'
end
local function plan_jobs(step, s)
  local args, behind = step.args, 12 + s.count
  for n = 1, s.count do
    local from = behind
    behind = s.is_flow and flow_jobs.read_new(step, from, from) or from + 4
    s.codes[n] = code_of(step, s, from)
    if s.codes[n] == 'e' then
      s.chosen[args[from]] = true
      s.at[#s.at + 1] = from
      s.runs, s.made = s.runs .. values.text(args[from]) .. args[11 + n] .. ' ', s.made + 1
      occupy(s, 'ready')
    end
  end
  while s.made > constants.runs_remembered do
    local _, rest = first_run(s.runs)
    s.runs, s.made = rest or '', s.made - 1
  end
end

local function write_jobs(step, s)
  if s.is_flow then
    flow_jobs.plan_new_ends(step)
    totals.keep_totals(step, step.job_counts)
    flow_jobs.write_new(step)
    continuations.carry_out_ends(step)
  else
    new_jobs.store_new(step, s.at)
  end
end
local function write_schedule(step, s)
  call('HSET', step.keys.schedules, s.name, int_text(numbers.draw(step, 1)) .. ' ' .. int_text(s.made) .. ' ' ..
             values.text(s.record) .. s.runs)
  call('ZADD', step.keys.schedule_names, 0, s.name)
  if s.next_at ~= '' then
    call('ZADD', step.keys.firing, s.next_at, s.name)
  else
    call('ZREM', step.keys.firing, s.name)
  end
  if s.place == '' then
    call('HDEL', step.keys.even_places, s.name)
  elseif s.among ~= '' then
    call('HSET', step.keys.even_places, s.name, match(s.place, '^%d+ %d+ ') .. int_text(numbers.draw(step, 1)))
  else
    call('HSET', step.keys.even_places, s.name, s.place)
  end
  if s.next_at ~= '' and (#s.at > 0 or s.count == 0) then hints.has_work(step, '@') end
end

function calls.update_schedule(step)
  local s = read_change(step.args)
  call('ZCARD', step.keys.firing)
  call('ZCARD', step.keys.schedule_names)
  call('HLEN', step.keys.even_places)
  local before = schedule_views.schedule_of(step, s.name)
  if not is_as_read(step, s, before) then return told(step, s, 0, '') end
  if s.record == '' then
    remove(step, s)
    return told(step, s, 1, '')
  end
  if before then s.runs, s.made = before.runs, math.min(before.n, constants.runs_remembered) end
  look_at_runs(step, s)
  plan_jobs(step, s)

  numbers.may_draw(step)
  base.say_layout(step)
  write_jobs(step, s)
  write_schedule(step, s)
  hints.finish(step)
  return told(step, s, 1, table.concat(s.codes))
end
end
do  -- calls/waiters.lua



function calls.waiters(step)
  local args = step.args
  local answer = {}
  for _, w in ipairs(throttler_views.line_behind(step, args[3], tonumber(args[4]), tonumber(args[5]), args[6])) do
    local n = #answer
    answer[n + 1], answer[n + 2] = w.id, w.number
  end
  return answer
end
end
do  -- library.lua



function library.entry(name, writes)
  local carry_out = calls[name]
  return carry_out and function(KEYS, ARGV)
    base.fetch_prelude()
    local refused = name == 'open' and rights.refusal(KEYS[1])
    if refused then return refused end
    local step = base.begin(KEYS, ARGV)
    if name == 'raise' then return carry_out(step) end  -- which is for stores of another layout
    refused = base.refusal_of_layout(step)
    if refused then return refused end
    if writes and not step.last_number then return end
    return carry_out(step)
  end
end
end
