-- Jobs that run one after the other under one permit, by one claim (permit_of), and whose turn it is to claim the next.

-- Whether a claimed job has nothing but the permit that was kept for it when it was woken.
function chaining.has_reserved_alone(step, id, a, resource)
  if #a.held ~= 1 or #a.slots > 0 or a.held[1] ~= resource then return false end
  return admissions.entry_of(step, resource, id) == 'reserved'
end

-- The first of those who wait for it, behind `skipped` of them, as long as they are of this queue and have nothing
-- else. Not more than would leave as many to each other permit: these run side by side.
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

-- These are runs of a chain from now on, the first of them its first when `is_new`. Who was parked keeps the number of
-- that, by which it would wait again.
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

-- A run of a chain whose turn did not come: its job waits for the permit again, at its place before all who came later.
function chaining.return_to_line(step, id, queue, resource, fence, a)
  local b = admissions.copy_of(a or admissions.no_admission)
  if b.arrival == 0 then b.arrival = tonumber(fence) end
  b.fence, b.at = fence, resource
  call('HSET', step.keys.admission, id, admissions.write_admission(b))
  waiting.enqueue_waiter(step, id, queue, resource, b.arrival)
end

-- Servers take turns: who has a free worker for a line that waits, and nothing of its permit, is the next, and whoever
-- brings a permit back leaves it to that one for a moment. A turn: "until ", and the next server. until is 0 as long as
-- nothing was left to it.
local function turn_field(queue, resource) return values.text(queue) .. resource end
local function turn_at(step, queue, resource)
  local until_, next_one = match(call('HGET', step.keys.turns, turn_field(queue, resource)) or '',
                                        '^(%d+) (.*)$')
  return tonumber(until_), next_one
end
function chaining.check_turns(step) call('HLEN', step.keys.turns) end
-- Whether a chain goes on, and nothing speaks against its growth: a limit that was lowered, or somebody else's turn.
function chaining.may_grow(step, name, queue, server)
  local resource = admissions.permit_of(name)
  if (admissions.said_count(step, name) or admissions.claims_of(step, name)) <= 0 then return false end
  if admissions.held_of(step, resource) > (admissions.limit_of(step, resource) or 0) then return false end
  local _, next_one = turn_at(step, queue, resource)
  return next_one == nil or next_one == server
end
-- Whether a woken job is left to another: for a moment more, or from now on, as its permit came back by this step.
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
-- What was left to somebody who has come, or has not in time.
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

-- What a claim does with chains (claiming.lua); `c` is the claim.

-- Those who wait for the permit of a chain go with it, as far as they are of its type.
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
    if step.has_flow and continuations.must_not_start(step, id, p) then return end
    if not claiming.has_space_for(c, record, histories[i]) then return end
    c.had[id] = admitted[id]
    local key = keys.wait_line(step, c.queue, resource)
    table.insert(chain.places, claiming.take(step, c, id, record, histories[i], p.attempt, key))
    changes.leave(step, places.line(step, 'throttled', c.queue), id)
    c.skipped[resource] = (c.skipped[resource] or 0) + 1
  end
end
local function add_chain(c, chain)
  if not next(c.chains) then c.chains = {} end
  table.insert(c.chains, chain)
end
-- A chain of this server may go on.
function chaining.grow(step, c, plan, fence, by)
  local name = 'chain:' .. fence .. ':' .. plan.wants[1]
  if not chaining.may_grow(step, name, c.queue, c.server) then return end
  local chain = {name = name, places = {}}
  take_followers(step, c, chain, plan, by)
  if #chain.places > 0 then add_chain(c, chain) end
end
-- One that was woken was taken, in the n-th place.
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
