-- Takes the first ready jobs of a queue: its front line, then all its others oldest first.
-- ARGV from `at`: server, queue, slot, op, free, ahead, 1 when a suspect may be among the free, lease in microseconds,
-- the number of known types, these, the number of types that start at once, these, the number of types whose permits
-- are taken, and for each: it, 1 when it may be parked, how many may make a chain (0: none ever), 1 when the server wants
-- a turn, the number of its chains that may grow, of each the fence and by how many, the number of its resources, these.
-- Answer: a place for the hint; what claimed jobs have of throttlers already, see `permits_told`; how many were parked;
-- 1 when a suspect waits still; 1 when more may be claimed at once, as it was cut at its bytes; how long the first had
-- been ready, or empty; 1 when a woken job was left to another server for a moment; of the jobs that must be over by an
-- instant, the place of each and how many microseconds are left, each behind a space; then for each job id, end of its
-- lease, record, history or empty, run.
-- Invariants: what is claimed leaves its line and has a run and a lease in the same step; a job of an unknown type
-- moves to its type's line; no suspect stays in the front or the main line; the runs of a chain have fences that grow in
-- the order in which they wait; an op that got something answers the same when it comes again. A record that cannot be
-- read, or names another queue or type than its line, is put aside.
local max_moved = 1000  -- jobs that one claim looks at and does not take
local max_types = 1000  -- lines of types that a claim asks for by their names in the store, not by those that it knows
local few_at_first = 32  -- are read at once, and while they are large
local small_record = 16384

local function has_waiting_suspect(queue, passed)
  return (passed or call('EXISTS', line('suspect', queue)) == 1) and 1 or 0
end

local function claimed_before(server, queue, op)
  local found, ids = {}, call('ZRANGE', line('processing', queue), 0, -1, 'WITHSCORES')
  for i = 1, #ids, 2 do
    local row = call('HGET', runs, ids[i])
    local run = row and read_run(row)
    if run and run.server == server and run.op == op then
      found[#found + 1] = {fence = tonumber(run.fence), id = ids[i], until_ = int_text(tonumber(ids[i + 1])), row = row}
    end
  end
  table.sort(found, function(a, b) return a.fence < b.fence end)
  local answer, ids_found, has_already = {'', '', 0, has_waiting_suspect(queue), 0, '', 0, ''}, {}, {}
  for i, f in ipairs(found) do ids_found[i] = f.id end
  local had = admissions_if_any(ids_found)
  for i, f in ipairs(found) do
    local n, a = #answer, had[f.id]
    if a then has_already[#has_already + 1] = on_demand().permits_told(i, a.held, a.slots) end
    answer[n + 1], answer[n + 2], answer[n + 5] = f.id, f.until_, f.row
    answer[n + 3], answer[n + 4] = call('HGET', jobs, f.id) or '', call('HGET', history, f.id) or ''
  end
  answer[2] = table.concat(has_already)
  if has_flow then answer[8] = on_demand().times_left(ids_found) end
  return answer
end

local function claim(at)
  local server, queue, slot, op = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local free, ahead = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  local allow_suspect, lease = ARGV[at + 6] == '1', ARGV[at + 7]
  local most = free + ahead
  local known, no_prefetch = {}, {}
  local types_end = at + 8 + ARGV[at + 8]
  for i = at + 9, types_end do known[ARGV[i]] = true end
  local at_once_end = types_end + 1 + ARGV[types_end + 1]
  for i = types_end + 2, at_once_end do no_prefetch[ARGV[i]] = true end
  local plans, plans_of, place = {}, {}, at_once_end + 2  -- plans_of: how many by resource
  local in_order = {}
  for _ = 1, ARGV[at_once_end + 1] do
    local plan = {kind = ARGV[place], may_wait = ARGV[place + 1] == '1', chain_size = tonumber(ARGV[place + 2]),
                  wants_turn = ARGV[place + 3] == '1', growing = {}, wants = {}, row = '', let_in = 0, roomy = 0}
    for i = 1, ARGV[place + 4] do
      plan.growing[i] = {fence = ARGV[place + 3 + 2 * i], by = tonumber(ARGV[place + 4 + 2 * i])}
    end
    local resources_at = place + 5 + 2 * #plan.growing
    for i = 1, ARGV[resources_at] do
      local resource = ARGV[resources_at + i]
      plan.wants[i] = resource
      plan.row = plan.row .. text(resource)
      plans_of[resource] = (plans_of[resource] or 0) + 1
    end
    plan.row = text(plan.row)
    plans[plan.kind], in_order[#in_order + 1] = plan, plan
    place = resources_at + 1 + #plan.wants
  end
  if most == 0 then return {''} end

  local owner = text(queue) .. server
  local mark = slot .. ' ' .. owner
  local before = call('HGET', claims, mark)
  local is_asked_again = before and (tonumber(before) or 0) >= tonumber(op)
  if not is_asked_again then may_draw() end
  mark_served(queue)
  if is_asked_again then return claimed_before(server, queue, op) end
  call('SADD', queues, queue)
  if call('SISMEMBER', paused, queue) == 1 then return {''} end

  -- Looking: what is taken, what is moved aside, what cannot be read. Of jobs, nothing is written before all is known.
  local ids, records, histories, attempts, permits, has = {}, {}, {}, {}, {}, {}  -- of those taken
  local over = {}  -- those that end in place of their start
  local leaving, aside, broken, strays, parks, full, looked = grouped(), {}, {}, {}, {}, false, 0
  local had, rooms, just_woken = {}, {}, 0  -- rooms: by resource
  local misplaced = 0  -- who stands in a line of its own, too
  local passed_suspect = false
  local used = 0               -- of `most`: who follows in a chain needs no worker of its own
  -- Of each chain: the places of its runs, and its name or resource; by resource: how many were taken from its line.
  local chains, skipped = {}, {}
  local is_left = false        -- a woken job, to another server
  local bytes, cut = 0, false  -- of those taken
  local first_key, first_id    -- of the first of them that was ready
  local slice = few_at_first

  local function rooms_for(plan)
    local found = {}
    for i, resource in ipairs(plan.wants) do
      rooms[resource] = rooms[resource] or on_demand().room_of(resource)
      found[i] = rooms[resource]
      if not found[i].limit then return {} end  -- who claims it will be told so
    end
    return found
  end
  -- What keeps a newcomer from its permits, if anything does; and whether half of each is free. How many more find
  -- that, when nobody else takes of these, is kept as plan.roomy.
  local function look_at(plan)
    plan.rooms = plan.rooms or rooms_for(plan)
    local busy, roomy, alone = nil, max_moved, true
    for i, room in ipairs(plan.rooms) do
      if plan.counted then room.held = room.held + plan.let_in - plan.counted end
      if room.waited_for or room.held >= room.limit then busy = busy or plan.wants[i] end
      roomy = room.waited_for and 0 or math.min(roomy, math.floor(room.limit / 2) - room.held)
      alone = alone and plans_of[plan.wants[i]] == 1
    end
    plan.counted = plan.let_in
    if alone and #plan.rooms > 0 then plan.roomy = math.max(0, roomy) end
    return busy, roomy > 0
  end
  local function has_space_for(record, before_it)
    local size = #record + #(before_it or '')
    if #ids > 0 and bytes + size > max_answer_bytes then return false end
    bytes = bytes + size
    return true
  end
  local function take(id, record, before_it, attempt, key)
    local n = #ids + 1
    ids[n], records[n], histories[n], attempts[n], permits[n] = id, record, before_it or '', attempt + 1, '0:'
    has[n] = (before_it and 1 or 0) + (had[id] and 2 or 0)
    add_one(leaving, key, id)
    return n
  end
  -- Those who wait for the permit of a chain go with it, as far as they are of its type.
  local function take_followers(chain, plan, by)
    local resource = plan.wants[1]
    local behind, admitted = on_demand().followers(resource, queue, skipped[resource] or 0, by)
    local its_records, its_histories = many('HMGET', jobs, behind), many('HMGET', history, behind)
    if has_flow then on_demand().read_flows(behind) end
    for i, id in ipairs(behind) do
      local record, p = its_records[i], read_history(its_histories[i])
      local kind, its_queue = names_of(record or '')
      if kind ~= plan.kind or its_queue ~= queue or not p or is_suspect(p.losses) then return end
      if has_flow and on_demand().must_not_start(id, p, over) then return end
      if not has_space_for(record, its_histories[i]) then return end
      had[id] = admitted[id]
      table.insert(chain.places, take(id, record, its_histories[i], p.attempt, wait_line(queue, resource)))
      add_one(leaving, sorted(line('throttled', queue)), id)
      skipped[resource] = (skipped[resource] or 0) + 1
    end
  end
  local function grow(plan, fence, by)
    local name = 'chain:' .. fence .. ':' .. plan.wants[1]
    if not on_demand().may_grow(name, queue, server) then return end
    local chain = {name = name, places = {}}
    take_followers(chain, plan, by)
    if #chain.places > 0 then chains[#chains + 1] = chain end
  end
  local function consider(id, record, before_it, from)
    local kind, its_queue
    if record then kind, its_queue = names_of(record) end
    -- Whoever can write lines alone has no job run in another queue.
    if kind and (its_queue ~= queue or from.of_type and from.of_type ~= kind) then
      if place_at_home(id, record) then
        misplaced = misplaced + 1
        return add_one(leaving, from.key, id)
      end
      kind = nil
    end
    local attempt, losses = 0, 0
    if before_it then
      local p = read_history(before_it)
      if p then attempt, losses = p.attempt, p.losses else kind = nil end
    end
    if not kind then
      broken[#broken + 1] = {id, from.key}
      return
    end
    if has_flow and on_demand().must_not_start(id, {attempt = attempt, losses = losses}, over) then return end
    local suspect = is_suspect(losses)
    if suspect and not allow_suspect then
      passed_suspect = true
      -- One in a main line has a history that was harmed; any other stays where it is.
      if from.of_new or from.of_woken then strays[#strays + 1] = {id, from.key} end
      return
    end
    if not known[kind] then
      if not from.of_type then aside[#aside + 1] = {id, kind, from.key} end
      return
    end
    local plan, busy, roomy = plans[kind], nil, true
    local waited = plan and had[id]
    if waited then roomy = false
    elseif plan and plan.roomy == 0 then busy, roomy = look_at(plan) end
    if waited and plan.chain_size > 0 and on_demand().is_left_to_another(queue, plan.wants[1], server) then
      is_left, plan.turn = true, 'left'
      return
    end
    if (suspect or no_prefetch[kind] or not roomy) and used >= free then
      full = true  -- it and those behind it wait for a free worker: the order of the line holds
      return
    end
    if busy and plan.may_wait then
      sorted(wait_line(queue, busy))
      full = #parks + 1 >= max_parked
      parks[#parks + 1] = {id = id, resource = busy}
      add_one(leaving, from.key, id)
      return
    end
    if not has_space_for(record, before_it) then
      cut, full = true, true
      return
    end
    if suspect then allow_suspect = false end
    if woken_now[id] then just_woken = just_woken + 1 end
    used = used + 1
    first_key, first_id = first_key or from.key, first_id or id
    local n = take(id, record, before_it, attempt, from.key)
    if waited and plan.chain_size > 0 then plan.turn = 'taken' end
    if waited and plan.chain_size > 1 and not suspect and on_demand().has_reserved_alone(id, had[id], plan.wants[1]) then
      local chain = {resource = plan.wants[1], places = {n}}
      take_followers(chain, plan, plan.chain_size - 1)
      if #chain.places > 1 then chains[#chains + 1] = chain end
    end
    if plan and not waited and not busy and plan.rooms[1] then
      permits[n] = plan.row
      plan.let_in = plan.let_in + 1
      if plan.roomy > 0 then plan.roomy = plan.roomy - 1
      else look_at(plan) end
    end
  end

  -- The next of some lines, at most `count`: ids, and the line of each.
  local function first_of(lines, count)
    local found, from = {}, {}
    if #lines == 1 then
      local only = lines[1]
      found = call('ZRANGE', only.key, only.seen, only.seen + count - 1)
      is_sorted[only.key] = true
      for i = 1, #found do from[i] = only end
      return found, from
    end
    local all = {}
    for _, l in ipairs(lines) do
      if not l.suspects or allow_suspect then
        local rows = call('ZRANGE', l.key, l.seen, l.seen + count - 1, 'WITHSCORES')
        is_sorted[l.key] = true
        for i = 1, #rows, 2 do all[#all + 1] = {rows[i], tonumber(rows[i + 1]), l} end
      end
    end
    table.sort(all, function(a, b) return a[2] < b[2] end)
    for i = 1, math.min(#all, count) do found[i], from[i] = all[i][1], all[i][3] end
    return found, from
  end

  local function drain(lines)
    while not full and used < most and looked - #ids < max_moved do
      local count = math.min(most - used, slice)
      local found, from = first_of(lines, count)
      if #found == 0 then return end
      local found_records, found_histories = many('HMGET', jobs, found), many('HMGET', history, found)
      local read = 0
      for i = 1, #found do read = read + #(found_records[i] or '') end
      slice = read < #found * small_record and max_moved or few_at_first
      -- Who was never started and waits in the main line has nothing to do with a throttler yet.
      local may_have = {}
      for i, id in ipairs(found) do
        if found_histories[i] or not from[i].of_new then may_have[#may_have + 1] = id end
      end
      for id, a in pairs(admissions_if_any(may_have)) do had[id] = a end
      if has_flow then on_demand().read_flows(found) end
      for i, id in ipairs(found) do
        if full then return end
        from[i].seen = from[i].seen + 1
        looked = looked + 1
        consider(id, found_records[i], found_histories[i], from[i])
      end
      if #found < count then return end
    end
  end

  for _, plan in ipairs(in_order) do
    for _, chain in ipairs(plan.growing) do grow(plan, chain.fence, chain.by) end
  end
  drain({{key = line('front', queue), seen = 0, of_woken = true}})
  if not full and used < most then
    local lines = {{key = line('ready', queue), seen = 0, of_new = true}}
    if allow_suspect and call('EXISTS', line('suspect', queue)) == 1 then
      lines[2] = {key = line('suspect', queue), seen = 0, suspects = true}
    end
    local function add_type(name)
      lines[#lines + 1] = {key = type_line(queue, name), seen = 0, of_type = name}
    end
    if call('SCARD', types_of(queue)) <= max_types then
      for _, name in ipairs(call('SMEMBERS', types_of(queue))) do
        if known[name] then add_type(name) end
      end
    else
      for name in pairs(known) do
        if call('SISMEMBER', types_of(queue), name) == 1 then add_type(name) end
      end
    end
    drain(lines)
  end
  local function change_turns()
    local has_it = {}  -- the server, of a type at least
    for _, plan in ipairs(in_order) do
      if plan.turn == 'taken' then on_demand().took_turn(queue, plan.wants[1], server)
      elseif plan.turn == 'left' then on_demand().leave_to_next(queue, plan.wants[1]) end
      local has_some = plan.chain_size > 0 and not plan.wants_turn or plan.turn == 'taken' or plan.let_in > 0
      for _, resource in ipairs(has_some and plan.wants or {}) do has_it[resource] = true end
    end
    for _, plan in ipairs(used < free and in_order or {}) do
      if plan.wants_turn and known[plan.kind] and not has_it[plan.wants[1]] and plan.turn ~= 'left' then
        on_demand().wants_turn(queue, plan.wants[1], server)
      end
    end
  end
  if #ids + #aside + #broken + #strays + #parks + #over + misplaced == 0 then
    change_turns()
    return {'', '', 0, has_waiting_suspect(queue, passed_suspect), 0, '', is_left and 1 or 0, ''}
  end

  for _, a in pairs(had) do
    for _, resource in ipairs(a.held) do call('HLEN', holders(resource)) end  -- admit_claimed writes there
  end
  if next(plans) then on_demand().check_turns() end

  if #over > 0 and looked - #ids >= max_moved then has_work(queue) end  -- more may stand behind these

  -- Writing.
  local processing = sorted(line('processing', queue))
  if #broken > 0 then may_move_to_quarantine(queue) end
  sorted(ending)
  if #parks > 0 then sorted(line('throttled', queue)) end
  local entering, new_types = grouped(), {}
  if #aside > 0 then
    has_work(queue)  -- for who knows their types
    call('SCARD', types_of(queue))
  end
  for _, a in ipairs(aside) do
    add_two(entering, sorted(type_line(queue, a[2])), int_text(tonumber(call('ZSCORE', a[3], a[1]))), a[1])
    add_one(leaving, a[3], a[1])
    new_types[#new_types + 1] = a[2]
  end
  for _, s in ipairs(strays) do
    add_two(entering, sorted(line('suspect', queue)), call('ZSCORE', s[2], s[1]), s[1])
    add_one(leaving, s[2], s[1])
  end
  local ready_at = first_id and tonumber(call('ZSCORE', first_key, first_id))
  if has_flow then
    on_demand().plan_ends(over)
    on_demand().plan_starts(ids)
    keep_totals(job_counts)
  end
  each_list(leaving, 'ZREM')
  each_list(entering, 'ZADD')
  many('SADD', types_of(queue), new_types)
  for _, b in ipairs(broken) do move_to_quarantine(b[1], b[2], queue) end
  if has_flow then on_demand().carry_out_ends() end

  woken = woken - just_woken  -- nobody else need come for these
  woken_in[queue] = (woken_in[queue] or 0) - just_woken
  local fence = #ids > 0 and draw(#ids)  -- the first of theirs, before whoever is parked: a chain may come back to the line
  if #parks > 0 then on_demand().park_fresh(queue, parks) end

  change_turns()
  for resource in pairs(skipped) do on_demand().close_empty_line(resource, queue) end

  local answer = {'', '', #parks, has_waiting_suspect(queue, passed_suspect), cut and 1 or 0, '', is_left and 1 or 0,
                  has_flow and on_demand().times_left(ids) or ''}
  local answered = #answer
  if ready_at then answer[6] = int_text(math.max(0, math.min(now - ready_at, longest))) end
  if #ids > 0 then
    -- Their runs.
    local rows, leases = {}, {}
    for _, c in ipairs(chains) do
      c.is_new = not c.name
      c.name = c.name or 'chain:' .. int_text(fence + c.places[1] - 1) .. ':' .. c.resource
      for _, n in ipairs(c.places) do permits[n] = text(text(c.name)) end
    end
    local until_, rest = int_text(now + lease), ' ' .. now_text .. ' ' .. lease .. ' 0 ' .. op .. ' ' .. text(queue)
    for i, id in ipairs(ids) do
      local row = int_text(fence + i - 1) .. ' ' .. digits[attempts[i]] .. ' ' .. digits[has[i]] .. rest .. permits[i] .. server
      rows[2 * i - 1], rows[2 * i] = id, row
      leases[2 * i - 1], leases[2 * i] = until_, id
      answer[answered + 1], answer[answered + 2], answer[answered + 3] = id, until_, records[i]
      answer[answered + 4], answer[answered + 5] = histories[i], row
      answered = answered + 5
    end
    many('HSET', runs, rows)
    many('ZADD', processing, leases)
    call('ZADD', ending, 'LT', until_, queue)
    call('HSET', claims, mark, op)
    for _, plan in pairs(plans) do
      if plan.let_in > 0 then
        look_at(plan)
        for _, resource in ipairs(plan.wants) do on_demand().count_claimed(resource, plan.let_in) end
      end
    end
    for _, c in ipairs(chains) do
      local its = {}
      for i, n in ipairs(c.places) do its[i] = ids[n] end
      on_demand().add_to_chain(c.name, its, had, c.is_new)
    end
    if next(had) then answer[2] = on_demand().admit_claimed(ids, had, fence) end
  end
  -- Whoever would have been overtaken goes on now, if there is room.
  local overtaken = {}
  for resource, room in pairs(rooms) do
    local was_held = #over > 0  -- by one of these
    if room.limit and (was_held or room.waited_for and room.held < room.limit) then overtaken[#overtaken + 1] = resource end
  end
  if #overtaken > 0 then table.sort(overtaken, by_bytes) end
  for _, resource in ipairs(overtaken) do on_demand().pass_on(resource) end
  return answer
end
