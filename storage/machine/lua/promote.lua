-- Writes, or finds nothing to do.
-- Moves due jobs to the tails of their queues, oldest first, and passes on what was reserved too long.
-- ARGV[3]: at most so many of each. ARGV[4]: for how many microseconds something stays reserved.
-- Answer: how many were moved; in how many microseconds the next is due (empty: there is none; 0: more are due); the
-- hint; the limiters with a line to look at; in how many microseconds the next schedule is due, or empty.
-- Invariant: `due` names each queue that has scheduled jobs, with the earliest. Passes when memory is out.
local max_open = 10000    -- lines looked at, those that stand still included
local max_owing = 250     -- of the agenda
-- What stands in the agenda and is due. What was requeued comes first, in steps of its own: what they bring back has to be
-- there before an end is told to it.
local function go_on_with(owing)
  local ended, expired, unknown, any_again = {}, {}, {}, false
  local words = {}
  for i, member in ipairs(owing) do
    local what, letter, id = match(member, '^(%l+) (.) (.*)$')
    words[i] = {what or '', letter, id}
    if what == 'again' then
      on_demand().go_on_again(id)
      any_again = true
    end
  end
  for i, word in ipairs(any_again and {} or words) do
    local what, letter, id = unpack(word)
    if what == 'edges' then
      on_demand().owes_no_more(owing[i])  -- nobody may wait for it any more
      ended[#ended + 1] = {id, letter}
    elseif what == 'expire' then expired[#expired + 1] = id
    elseif what == 'key' then on_demand().sweep_key(id)
    elseif what == 'seal' then on_demand().cancel_unsealed(sub(id, 2), ended)
    elseif what == 'cancel' then on_demand().cancel_members(sub(id, 2), ended)
    elseif what == 'forget' then on_demand().forget_group(sub(id, 2), on_demand().may_be_forgotten(id))
    else unknown[#unknown + 1] = owing[i] end
  end
  if #expired > 0 then on_demand().plan_expiry(expired, ended) end
  if not any_again then
    on_demand().plan_ends(ended)
    on_demand().reduce_quarantined(ended)
  end
  keep_totals(job_counts)
  on_demand().carry_out_ends()
  many('ZREM', agenda, unknown)
end
begin_freeing()
local limit = tonumber(ARGV[3])
-- Which lines may be looked at again. Those that stand still leave, whatever their number: they would stay in front of
-- all that open later. A resume, or a reconcile, puts them back when one of their queues runs again.
local open, seen, still, open_lines, read = {}, {}, {}, 0, 0
while open_lines < limit and read < max_open do
  local some = call('ZRANGE', next_checks, '-inf', now_text, 'BYSCORE', 'LIMIT', read, limit)
  for _, resource in ipairs(some) do
    if open_lines == limit then break end
    if has_runnable_waiter(resource) then
      local limiter = limiter_of(resource)
      open_lines = open_lines + 1
      if not seen[limiter] then open[#open + 1] = limiter end
      seen[limiter] = true
    else
      still[#still + 1] = resource
    end
  end
  read = read + #some
  if #some < limit then break end
end
local records_read = call('ZRANGE', due, '-inf', now_text, 'BYSCORE')
local function before(a, b) return a.at < b.at or (a.at == b.at and by_bytes(a.id, b.id)) end
-- The oldest of all lines, read in growing parts: however many queues there are, some twice the limit is read.
local found, parts = {}, {}
for i, queue in ipairs(records_read) do parts[i] = {queue = queue, read = 0} end
local share = math.ceil(limit / math.max(1, #records_read)) + 1
while #parts > 0 do
  for _, part in ipairs(parts) do
    local rows = call('ZRANGE', line('scheduled', part.queue), '-inf', now_text, 'BYSCORE', 'LIMIT', part.read, share,
                      'WITHSCORES')
    for i = 1, #rows, 2 do
      part.last = {id = rows[i], at = tonumber(rows[i + 1]), queue = part.queue}
      found[#found + 1] = part.last
    end
    part.read, part.ended = part.read + #rows / 2, #rows < 2 * share
  end
  if #records_read > 1 then table.sort(found, before) end
  local unread = {}
  for _, part in ipairs(parts) do
    if not part.ended and (not found[limit] or before(part.last, found[limit])) then unread[#unread + 1] = part end
  end
  parts, share = unread, 2 * share
end
local moved = math.min(#found, limit)
local reservation_lasts = tonumber(ARGV[4])
local last_lapsed = int_text(now - reservation_lasts)
local lapsed = call('ZRANGE', reserved, '-inf', last_lapsed, 'BYSCORE', 'LIMIT', 0, limit)
if moved + #lapsed > 0 then may_draw() end
if moved > 0 then
  local ids, leaving, entering = {}, grouped(), grouped()
  for i = 1, moved do ids[i] = found[i].id end
  local histories = many('HMGET', history, ids)
  local place = draw(moved)
  for i = 1, moved do
    local f = found[i]
    local p = read_history(histories[i]) or {losses = 0}  -- who claims it will see that it cannot be read
    has_work(f.queue)
    add_one(leaving, sorted(line('scheduled', f.queue)), f.id)
    add_two(entering, sorted(tail(f.queue, p.losses)), int_text(place + i - 1), f.id)
  end
  each_list(entering, 'ZADD')
  each_list(leaving, 'ZREM')
end
for _, queue in ipairs(records_read) do refresh_due(queue) end

for _, member in ipairs(lapsed) do
  local resource, behind = text_at(member, 1)
  local id = resource and sub(member, behind)
  local a = id and admission_of(id)
  call('ZREM', reserved, member)
  if a and has_permit(a, resource) then
    remove_entries(resource, {id})
    local b = copy_of(a)
    b.held = {}
    for _, r in ipairs(a.held) do
      if r ~= resource then b.held[#b.held + 1] = r end
    end
    local place = place_of(id, call('HGET', jobs, id))
    if place and is_enqueued(place.kind) then
      b.arrival, b.at = draw(1), resource
      call('ZREM', place.key, id)
      enqueue_waiter(id, place.queue, resource, b.arrival)
    end
    call('HSET', admission, id, write_admission(b))
    pass_on(resource)
  end
end
many('ZREM', next_checks, still)
local owing = has_flow and call('ZRANGE', agenda, '-inf', now_text, 'BYSCORE', 'LIMIT', 0, max_owing) or {}
if #owing > 0 then
  keep_number()  -- what is due was moved, whatever stands in the way of this
  go_on_with(owing)
end
local hint = finish()

local next_in
local function sooner(instant) next_in = math.min(next_in or longest, math.max(0, instant - now)) end
local function first_of(key) return tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) end
local first_due, first_reserved = first_of(due), first_of(reserved)
if first_due then sooner(first_due) end
if first_reserved then sooner(first_reserved + reservation_lasts) end
if #still > 0 and read >= max_open then sooner(now) end  -- there may be more behind them
local owed_next = has_flow and first_of(agenda)
if owed_next then sooner(owed_next) end
if #open > 0 then sooner(now + recheck_interval) end  -- a line that nobody looks at makes nobody run in circles
local coming = call('ZRANGE', next_checks, '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
if coming[2] then sooner(tonumber(coming[2])) end
local schedule_due = first_of(firing)
return {moved, next_in and int_text(next_in) or '', hint, open,
        schedule_due and int_text(math.min(longest, math.max(0, schedule_due - now))) or ''}
