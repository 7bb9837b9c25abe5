-- Moves due jobs to the tails of their queues, oldest first, and passes on what was reserved too long.
-- ARGV[3]: at most so many of each. ARGV[4]: for how many microseconds something stays reserved.
-- Answer: how many were moved; in how many microseconds the next is due (empty: there is none; 0: more are due); the
-- hint; the limiters with a line to look at; in how many microseconds the next schedule is due, or empty.
-- Invariant: `due` names each queue that has scheduled jobs, with the earliest. Passes when memory is out.
local int_text = base.int_text
local many = lists.many

local max_open = 10000    -- lines looked at, those that stand still included
local max_owing = 250     -- of the agenda
-- What stands in the agenda and is due. What was requeued comes first, in steps of its own: what they bring back has to
-- be there before an end is told to it.
local function go_on_with(step, owing)
  local words, over, unknown, any_again = {}, {}, {}, false
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
      changes.end_for_good(step, id, letter)
    elseif what == 'expire' then over[#over + 1] = id
    elseif what == 'key' then unique_keys.sweep_key(step, id)
    elseif what == 'seal' then groups.cancel_unsealed(step, sub(id, 2))
    elseif what == 'cancel' then groups.cancel_members(step, sub(id, 2))
    elseif what == 'forget' then groups.forget_group(step, sub(id, 2), continuations.may_be_forgotten(step, id))
    else unknown[#unknown + 1] = owing[i] end
  end
  if #over > 0 then clocks.plan_expiry(step, over) end
  continuations.plan_ends(step)
  continuations.reduce_quarantined(step)
  changes.commit(step)
  many('ZREM', step.keys.agenda, unknown)
end
local function before(a, b) return a.at < b.at or (a.at == b.at and lists.by_bytes(a.id, b.id)) end
local function first_of(key) return tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) end

-- A promote while it is made: what it was asked, and what is due.
local function begin_promote(args)
  return {limit = tonumber(args[3]), reservation_lasts = tonumber(args[4]),
          open = {}, still = {}, lines_read = 0,  -- limiters with a line to look at, lines that stand still
          queues = {}, found = {}, moved = 0,     -- whose scheduled jobs are due, these jobs, and how many of them move
          lapsed = {}}                            -- of `reserved`
end

-- Which lines may be looked at again. Those that stand still leave, whatever their number: they would stay in front
-- of all that open later. A resume, or a reconcile, puts them back when one of their queues runs again.
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

-- The next of the scheduled jobs of one queue.
local function read_part(step, due, part, share)
  local rows = call('ZRANGE', places.line(step, 'scheduled', part.queue), '-inf', step.now_text, 'BYSCORE', 'LIMIT',
                    part.read, share, 'WITHSCORES')
  for i = 1, #rows, 2 do
    part.last = {id = rows[i], at = tonumber(rows[i + 1]), queue = part.queue}
    due.found[#due.found + 1] = part.last
  end
  part.read, part.ended = part.read + #rows / 2, #rows < 2 * share
end
-- The oldest of all lines, read in growing parts: however many queues there are, some twice the limit is read.
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
  local ids = {}
  for i = 1, due.moved do ids[i] = due.found[i].id end
  local histories = many('HMGET', step.keys.history, ids)
  local place = numbers.draw(step, due.moved)
  for i = 1, due.moved do
    local f = due.found[i]
    local p = values.read_history(histories[i]) or {losses = 0}  -- who claims it will see that it cannot be read
    hints.has_work(step, f.queue)
    changes.leave(step, places.line(step, 'scheduled', f.queue), f.id)
    changes.enter(step, places.tail(step, f.queue, p.losses), int_text(place + i - 1), f.id)
  end
end

local function find_lapsed(step, due)
  local last_lapsed = int_text(step.now - due.reservation_lasts)
  due.lapsed = call('ZRANGE', step.keys.reserved, '-inf', last_lapsed, 'BYSCORE', 'LIMIT', 0, due.limit)
end
-- Takes a permit from whom it was reserved for, who waits for it anew, and passes it on.
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
  if #owing > 0 then go_on_with(step, owing) end
end

local function sooner(step, due, instant)
  due.next_in = math.min(due.next_in or base.longest, math.max(0, instant - step.now))
end
-- When something is due next, but for schedules: `next_in` microseconds, or nothing.
local function look_ahead(step, due)
  local first_due, first_reserved = first_of(step.keys.due), first_of(step.keys.reserved)
  if first_due then sooner(step, due, first_due) end
  if first_reserved then sooner(step, due, first_reserved + due.reservation_lasts) end
  -- there may be more behind them
  if #due.still > 0 and due.lines_read >= max_open then sooner(step, due, step.now) end
  local owed_next = step.has_flow and first_of(step.keys.agenda)
  if owed_next then sooner(step, due, owed_next) end
  -- a line that nobody looks at makes nobody run in circles
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
  for _, queue in ipairs(due.queues) do step.changes.refresh[queue] = true end
  changes.commit(step)
  for _, member in ipairs(due.lapsed) do pass_on_lapsed(step, member) end
  many('ZREM', step.keys.next_checks, due.still)
  go_on_with_agenda(step)
  local hint = hints.finish(step)
  look_ahead(step, due)
  local schedule_due = first_of(step.keys.firing)
  return {due.moved, due.next_in and int_text(due.next_in) or '', hint, due.open,
          schedule_due and int_text(math.min(base.longest, math.max(0, schedule_due - step.now))) or ''}
end
