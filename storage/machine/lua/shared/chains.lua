-- Jobs that run one after the other under one permit, by one claim (permit_of), and whose turn it is to claim the next.

-- Whether a claimed job has nothing but the permit that was kept for it when it was woken.
local function has_reserved_alone(id, a, resource)
  if #a.held ~= 1 or #a.slots > 0 or a.held[1] ~= resource then return false end
  return entry_of(resource, id) == 'reserved'
end

-- The first of those who wait for it, behind `skipped` of them, as long as they are of this queue and have nothing else.
-- Not more than would leave as many to each other permit: these run side by side.
local function followers(resource, queue, skipped, most)
  local waiting_here = call('ZCARD', wait_line(queue, resource)) - skipped
  most = math.min(most, math.ceil((waiting_here + 1) / math.max(limit_of(resource) or 1, 1)) - 1)
  local found, ids = first_waiters(resource, skipped + most), {}
  for i = skipped + 1, #found do
    if found[i].queue ~= queue then break end
    ids[#ids + 1] = found[i].id
  end
  local had = admissions_of(ids)
  for i, id in ipairs(ids) do
    local a = had[id]
    if not a or #a.held + #a.slots > 0 then return {unpack(ids, 1, i - 1)}, had end
  end
  return ids, had
end

-- These are runs of a chain from now on, the first of them its first when `is_new`. Who was parked keeps the number of
-- that, by which it would wait again.
local function add_to_chain(name, ids, had, is_new)
  local resource, changed = permit_of(name), {}
  count_claimed(name, #ids)
  if is_new then  -- it was woken for this
    call('ZREM', reserved, reservation(resource, ids[1]))
    remove_entries(resource, {ids[1]})
  end
  for _, id in ipairs(ids) do
    if had[id] then
      local a = copy_of(had[id])
      a.at, a.held = '', {}
      changed[#changed + 1], changed[#changed + 2] = id, write_admission(a)
      had[id] = nil
    end
  end
  put(admission, changed)
end

-- A run of a chain whose turn did not come: its job waits for the permit again, at its place before all who came later.
local function return_to_line(id, queue, resource, fence, a)
  local b = copy_of(a or no_admission)
  if b.arrival == 0 then b.arrival = tonumber(fence) end
  b.fence, b.at = fence, resource
  call('HSET', admission, id, write_admission(b))
  enqueue_waiter(id, queue, resource, b.arrival)
end

-- Servers take turns: who has a free worker for a line that waits, and nothing of its permit, is the next, and whoever
-- brings a permit back leaves it to that one for a moment. A turn: "until ", and the next server. until is 0 as long as
-- nothing was left to it.
local function turn_field(queue, resource) return text(queue) .. resource end
local function turn_at(queue, resource)
  local until_, next_one = match(call('HGET', turns, turn_field(queue, resource)) or '', '^(%d+) (.*)$')
  return tonumber(until_), next_one
end
local function check_turns() call('HLEN', turns) end
-- Whether a chain goes on, and nothing speaks against its growth: a limit that was lowered, or somebody else's turn.
local function may_grow(name, queue, server)
  local resource = permit_of(name)
  if (said_count(name) or claims_of(name)) <= 0 then return false end
  if held_of(resource) > (limit_of(resource) or 0) then return false end
  local _, next_one = turn_at(queue, resource)
  return next_one == nil or next_one == server
end
-- Whether a woken job is left to another: for a moment more, or from now on, as its permit came back by this step.
local function is_left_to_another(queue, resource, server)
  local until_, next_one = turn_at(queue, resource)
  if not until_ or next_one == server then return false end
  if until_ == 0 then return passed_on[resource] or false end
  return until_ > now and until_ <= now + turn_time
end
local function leave_to_next(queue, resource)
  local until_, next_one = turn_at(queue, resource)  -- of another type it may have been taken meanwhile
  if until_ == 0 then call('HSET', turns, turn_field(queue, resource), int_text(now + turn_time) .. ' ' .. next_one) end
end
-- What was left to somebody who has come, or has not in time.
local function took_turn(queue, resource, server)
  local until_, next_one = turn_at(queue, resource)
  if until_ and (until_ > 0 or next_one == server) then call('HDEL', turns, turn_field(queue, resource)) end
end
local function wants_turn(queue, resource, server)
  if call('EXISTS', wait_line(queue, resource)) == 0 then return end
  if not turn_at(queue, resource) then call('HSET', turns, turn_field(queue, resource), '0 ' .. server) end
end
