-- What every script begins with: the keys, the instant, the growing number, and how stored values are read.
-- docs/store_layout.md describes all of it.
--
-- KEYS[1] is the prefix, as {sluice}: its braces keep all keys in one slot. Every key is born in this file.
-- ARGV[1] is the instant in microseconds, or empty for the clock of Redis; ARGV[2] names who asks, so that it can
-- tell its own hints from others'.
--
-- Lua has no rollback, so each script looks at everything it will touch before its first write. A double holds
-- whole numbers below 2^53 exactly, but tostring rounds them to 14 digits: `whole` prints them.
local call, match, sub, byte, format = redis.call, string.match, string.sub, string.byte, string.format
local P = KEYS[1]
local function whole(n) return format('%d', n) end

local now = tonumber(ARGV[1])
if not now then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end
local now_text = whole(now)

local jobs = P .. ':jobs'              -- hash: id -> record, as the enqueuer sent it (core/codec)
local past = P .. ':past'              -- hash: id -> what has happened to the job so far, once something has
local starts = P .. ':starts'          -- hash: id -> the start that runs now
local quarantine = P .. ':quarantine'  -- hash: id -> bytes that could not be read
local queues = P .. ':queues'          -- set: every queue that ever held a job
local paused = P .. ':paused'          -- set: queues that start nothing
local claims = P .. ':claims'          -- hash: "lane ", queue as "length:bytes", server -> number of its last claim that got something
local servers = P .. ':servers'        -- hash: id -> what a server said of itself, last beat first
local number_key = P .. ':number'      -- the last fence or place that was drawn
local due = P .. ':due'                -- sorted set: queue -> the earliest instant in its scheduled line
local ending = P .. ':ending'          -- sorted set: queue -> no later than the first end of its leases
local schema = P .. ':schema'
-- Throttlers; admission.lua keeps them.
local admission = P .. ':admission'      -- hash: id -> what a job has of throttlers, and where it waits for one
local limits = P .. ':limits'            -- hash: resource -> its permits, where a definition says so
local definitions = P .. ':definitions'  -- hash: resource -> its definition
local configs = P .. ':configs'          -- hash: resource -> the text of the configuration that was applied last
local cells = P .. ':cells'              -- hash: cell -> "version length:state"
local taken = P .. ':taken'              -- hash: resource -> how many starts took it with their claim
local busy = P .. ':busy'                -- sorted set: resources with holders, by name
local waiting = P .. ':waiting'          -- sorted set: resources with waiters, by name
local reserved = P .. ':reserved'        -- sorted set: resource, as "length:bytes", and id -> since when it is reserved
local openings = P .. ':openings'        -- sorted set: a line's resource -> the instant at which to look at it again
local served = P .. ':served'            -- sorted set: queue -> the instant until which it counts as served
-- Locks.
local locks = P .. ':locks'            -- hash: resource -> "fence lease ", the token as "length:bytes", and the holder
local lock_ends = P .. ':lock_ends'    -- sorted set: resource -> the instant at which its lease is over
-- Recurring jobs; schedule_view.lua says what stands in the values.
local schedules = P .. ':schedules'      -- hash: name -> a schedule
local firing = P .. ':firing'            -- sorted set: name -> the instant at which the schedule is due next
local even_places = P .. ':places'            -- hash: name -> the part of its minute that an evenly staggered one keeps
local channel = P .. ':work'           -- told whenever there may be work

-- What is of another type than it should be stops a script here, before its first write.
for _, key in ipairs({jobs, past, starts, quarantine, claims, servers}) do call('HLEN', key) end
for _, key in ipairs({queues, paused}) do call('SCARD', key) end
for _, key in ipairs({due, ending}) do call('ZCARD', key) end

-- A job is in exactly one line, and the line is its state. Lines are sorted sets of ids: ready, woken, suspect and
-- type by place in line; throttled by the number of the first parking; scheduled by due time; processing by end of
-- lease; final states and quarantined by the instant they were entered.
local function line(kind, queue) return P .. ':' .. kind .. ':' .. queue end
-- A type's own line in a queue; no name holds a slash.
local function type_line(queue, type) return P .. ':type:' .. queue .. '/' .. type end
local function types_of(queue) return P .. ':types:' .. queue end
-- Who has a permit of a resource, but for those in `taken`: hash: id -> "kind fence since". Resources hold any bytes.
local function holders(resource) return P .. ':holders:' .. resource end
-- Who waits for it: a sorted set of ids for each queue, by the number of their first parking; and the set of queues.
local function wait_line(queue, resource) return P .. ':wait:' .. queue .. '/' .. resource end
local function waits(resource) return P .. ':waits:' .. resource end
local final_kinds = {'failed', 'succeeded', 'deleted'}

-- A key that will be written as a sorted set: raises now, before the first write, when it is something else.
local is_sorted = {}
local function sorted(key)
  if not is_sorted[key] then
    call('ZCARD', key)
    is_sorted[key] = true
  end
  return key
end

-- Scripts that only move or free begin with this: when Redis is out of memory it refuses a script whose first
-- write may grow, and on a replica it refuses any write, so a claim that finds nothing notices a lost master too.
local function begin_freeing() call('HDEL', starts, '') end

local last = tonumber(call('GET', number_key) or '') or 0
local drawn = false
-- The first of n numbers that nobody ever drew before, also when lost writes took `last` back.
local function draw(n)
  local first = math.max(last + 1, now)
  last = first + n - 1
  drawn = true
  return first
end

-- The last writes of every script.
local function finish(made_work)
  if drawn then call('SET', number_key, whole(last)) end
  -- Who may not publish is heard by the sweep.
  if made_work then redis.pcall('PUBLISH', channel, ARGV[2]) end
end

-- Lists by key, in the order the keys came, for one variadic command each.
local function grouped() return {order = {}, of = {}, size = {}} end
local function into(group, key)
  local list = group.of[key]
  if not list then
    list = {}
    group.of[key], group.size[key] = list, 0
    group.order[#group.order + 1] = key
  end
  return list
end
local function add_one(group, key, value)
  local list = group.of[key] or into(group, key)
  local size = group.size[key] + 1
  list[size], group.size[key] = value, size
end
local function add_two(group, key, first, second)
  local list = group.of[key] or into(group, key)
  local size = group.size[key]
  list[size + 1], list[size + 2], group.size[key] = first, second, size + 2
end
local most_at_once = 4000  -- arguments of one call; Lua's stack ends at 8000
local function each_list(group, command)
  for _, key in ipairs(group.order) do
    local list = group.of[key]
    for from = 1, #list, most_at_once do
      call(command, key, unpack(list, from, math.min(from + most_at_once - 1, #list)))
    end
  end
end
local function many(command, key, list)
  if #list == 0 then return {} end
  if #list <= most_at_once then return call(command, key, unpack(list)) end
  local all = {}
  for from = 1, #list, most_at_once do
    local part = call(command, key, unpack(list, from, math.min(from + most_at_once - 1, #list)))
    if type(part) == 'table' then for _, one in ipairs(part) do all[#all + 1] = one end end
  end
  return all
end

-- Writes fields of a hash whose values are short. Redis keeps a small one as a list, which each look reads from its
-- beginning, unless it ever had a value longer than hash-max-listpack-value; where many come at once they are worth a
-- table.
local function put(key, fields)
  local several = #fields > 32
  if several then call('HSET', key, '', ('-'):rep(65), fields[1], fields[2]) end
  many('HSET', key, fields)
  if several then call('HDEL', key, '') end
end

-- Which of two texts is first, by bytes: Lua would compare by the locale of whoever runs it.
local function by_bytes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- "length:bytes" at a position: the bytes, and the position behind them. Nothing when it is not that.
local function text_at(s, at)
  local length, from = match(s, '^(%d+):()', at)
  if not length then return nil end
  local to = from + length
  if to - 1 > #s then return nil end
  return sub(s, from, to - 1), to
end
local function text(s) return #s .. ':' .. s end

-- The type and queue in front of a record (core/codec): a version byte, then two texts of at most 200 bytes with
-- their lengths in one or two bytes.
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
local function type_of(record) return (name_at(record, 2)) end
local function queue_of(record)
  local _, at = name_at(record, 2)
  return at and (name_at(record, at))
end

-- A start: "fence attempt has started lease renewals op ", then as "length:bytes" the queue and the permits that its claim
-- took (each "length:bytes" again), then the server. has: 1 a past, 2 an admission, 3 both; 0 when surely neither.
local function read_start(row)
  local fence, attempt, has, started, lease, renewals, op, at =
    match(row, '^(%d+) (%d+) (%d) (%d+) (%d+) (%d+) (%d+) ()')
  local queue, permits
  if fence then queue, at = text_at(row, at) end
  if queue then permits, at = text_at(row, at) end
  if not permits then return nil end
  return {fence = fence, attempt = tonumber(attempt), has = has, started = started, lease = lease,
          renewals = renewals, op = op, queue = queue, permits = permits, server = sub(row, at)}
end
local function write_start(s)
  return s.fence .. ' ' .. s.attempt .. ' ' .. s.has .. ' ' .. s.started .. ' ' .. s.lease .. ' ' .. s.renewals .. ' ' ..
         s.op .. ' ' .. text(s.queue) .. text(s.permits) .. s.server
end

-- The past: "attempt losses settled failures n ", then as "length:bytes" each the reason, the result, the reported
-- progress, and the last n starts, oldest first. No past is that of a job that nothing has happened to.
local history_limit = 20  -- as in core/codec.hpp
local function read_past(value)
  if not value then
    return {attempt = 0, losses = 0, settled = '0', failures = 0, n = 0, reason = '', result = '', reported = '',
            history = ''}
  end
  local p = {}
  local attempt, losses, settled, failures, n, at = match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) ()')
  if not attempt then return nil end
  p.attempt, p.losses, p.settled = tonumber(attempt), tonumber(losses), settled
  p.failures, p.n = tonumber(failures), tonumber(n)
  if p.n > history_limit then return nil end  -- nobody wrote that, and `remember` would count down from it
  p.reason, at = text_at(value, at)
  if not at then return nil end
  p.result, at = text_at(value, at)
  if not at then return nil end
  p.reported, at = text_at(value, at)
  if not at then return nil end
  p.history = sub(value, at)
  return p
end
local function write_past(p)
  return p.attempt .. ' ' .. p.losses .. ' ' .. p.settled .. ' ' .. p.failures .. ' ' .. p.n .. ' ' .. text(p.reason) ..
         text(p.result) .. text(p.reported) .. p.history
end
-- An ended start: "fence attempt claimed ended ", then as "length:bytes" its server, the cause and the error, and last
-- how many microseconds it waited for its body to begin.
local function remember(p, fence, attempt, claimed, server, how)
  p.history = p.history .. text(fence .. ' ' .. attempt .. ' ' .. claimed .. ' ' .. now_text .. ' ' .. text(server) .. how)
  p.n = p.n + 1
  while p.n > history_limit do
    local _, behind = text_at(p.history, 1)
    p.history = behind and sub(p.history, behind) or ''
    p.n = p.n - 1
  end
end

local function is_suspect(losses) return losses >= 2 end  -- as in storage/store.hpp
-- The line behind all others of a queue for a job with so many losses.
local function tail(queue, losses) return line(is_suspect(losses) and 'suspect' or 'ready', queue) end

-- A claim or a beat says that somebody serves a queue. Written only when half of it is over: most find it so.
local served_for = 30000000  -- as in storage/admission.hpp
local function mark_served(queue)
  local until_ = tonumber(call('ZSCORE', served, queue) or '0')
  if until_ < now + served_for / 2 or until_ > now + served_for then
    call('ZADD', served, whole(now + served_for), queue)
  end
end

-- Keeps `due` exact after jobs left a scheduled line.
local function refresh_due(queue)
  local first = call('ZRANGE', line('scheduled', queue), 0, 0, 'WITHSCORES')
  if first[2] then call('ZADD', due, first[2], queue) else call('ZREM', due, queue) end
end

-- Every line that a queue may have now, with the names of its kinds; type lines as type:NAME.
local function lines_of(queue)
  local kinds, keys = {}, {}
  for _, kind in ipairs({'processing', 'ready', 'woken', 'suspect', 'scheduled', 'throttled', 'failed', 'succeeded',
                         'deleted'}) do
    kinds[#kinds + 1], keys[#keys + 1] = kind, line(kind, queue)
  end
  for _, name in ipairs(call('SMEMBERS', types_of(queue))) do
    kinds[#kinds + 1], keys[#keys + 1] = 'type:' .. name, type_line(queue, name)
  end
  return kinds, keys
end
-- All waiting lines but the throttled one.
local function is_enqueued(kind) return kind == 'ready' or kind == 'woken' or kind == 'suspect' or sub(kind, 1, 5) == 'type:' end
local function place_in(id, queue)
  local kinds, keys = lines_of(queue)
  for i, key in ipairs(keys) do
    local score = call('ZSCORE', key, id)
    if score then return {kind = kinds[i], key = key, score = whole(tonumber(score)), queue = queue} end
  end
end
-- Where a job is: its line and its score there. A record that is damaged may name a wrong queue.
local function place_of(id, record)
  local home = record and queue_of(record)
  local found = home and place_in(id, home)
  if found then return found end
  for _, queue in ipairs(call('SMEMBERS', queues)) do
    found = place_in(id, queue)
    if found then return found end
  end
end

-- Of servers that are no more.
local function forget_claims(gone)
  for _, mark in ipairs(call('HKEYS', claims)) do
    local _, at = text_at(mark, match(mark, '^%d+ ()') or 1)
    if at and gone[sub(mark, at)] then call('HDEL', claims, mark) end
  end
end
