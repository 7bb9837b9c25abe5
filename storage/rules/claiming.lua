-- Takes the first ready jobs of a queue: its front line, then all its others oldest first.
-- ARGV from `at`: server, queue, slot, op, free, ahead, 1 when a suspect may be among the free, lease in microseconds,
-- the number of known types, these, the number of types that start at once, these, the number of types whose permits
-- are taken, and for each: it, 1 when it may be parked, how many may make a chain (0: none ever), 1 when the server
-- wants a turn, the number of its chains that may grow, of each the fence and by how many, the number of its resources,
-- these. Answer: a place for the hint; what claimed jobs have of throttlers already, see `permits_told`; how many were
-- parked; 1 when a suspect waits still; 1 when more may be claimed at once, as it was cut at its bytes; how long the
-- first had been ready, or empty; 1 when a woken job was left to another server for a moment; of the jobs that must be
-- over by an instant, the place of each and how many microseconds are left, each behind a space; then for each job id,
-- end of its lease, record, history or empty, run.
-- Invariants: what is claimed leaves its line and has a run and a lease in the same step; a job of an unknown type
-- moves to its type's line; no suspect stays in the front or the main line; the runs of a chain have fences that grow
-- in the order in which they wait; an op that got something answers the same when it comes again. A record that cannot
-- be read, or names another queue or type than its line, is put aside.
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
  local had = admissions.admissions_of(step, ids_found)
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

-- A claim while it is made: what it asks for, what was looked at, and what is to be taken, moved and put aside. `none`
-- stands for lists that most claims never fill, and is never written to.
local none = {}
local function append(c, name, value)
  if c[name] == none then c[name] = {} end
  local list = c[name]
  list[#list + 1] = value
end

-- What a type needs: `wants` are its resources, `growing` the chains of its own that may go on.
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
             -- Of those taken.
             ids = {}, records = {}, histories = {}, attempts = {}, permits = {}, has = {}, bytes = 0,
             used = 0,  -- of `most`: who follows in a chain needs no worker of its own
             just_woken = 0,
             unknown = none, strays = none, parks = none,
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
-- What keeps a newcomer from its permits, if anything does; and whether half of each is free. How many more find that,
-- when nobody else takes of these, is kept as plan.roomy.
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
function claiming.take(step, c, id, record, before_it, attempt, key)
  local n = #c.ids + 1
  c.ids[n], c.records[n], c.histories[n], c.attempts[n], c.permits[n] = id, record, before_it or '', attempt + 1, '0:'
  c.has[n] = (before_it and 1 or 0) + (c.had[id] and 2 or 0)
  add_one(step.changes.leaving, key, id)
  return n
end

-- What is no job that may start by this claim, though it stands in a line of its queue: true, and it is moved or stays.
local function is_passed_by(step, c, id, kind, attempt, losses, from)
  if not kind then
    changes.put_aside(step, id, from.key, c.queue)
    return true
  end
  if step.has_flow and continuations.must_not_start(step, id, {attempt = attempt, losses = losses}) then
    return true
  end
  if places.is_suspect(losses) and not c.allow_suspect then
    c.passed_suspect = true
    -- One in a main line has a history that was harmed; any other stays where it is.
    if from.of_new or from.of_woken then append(c, 'strays', {id, from.key}) end
    return true
  end
  if c.known[kind] then return false end
  if not from.of_type then append(c, 'unknown', {id, kind, from.key}) end
  return true
end
-- It waits for a resource.
local function park(step, c, id, resource, key)
  sorted(step, keys.wait_line(step, c.queue, resource))
  append(c, 'parks', {id = id, resource = resource})
  c.is_full = #c.parks >= constants.max_parked
  add_one(step.changes.leaving, key, id)
end
-- Takes one that may start, unless a throttler, the workers or the size of the answer keep it from that.
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
  local n = claiming.take(step, c, id, record, before_it, attempt, from.key)
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
  -- Whoever can write lines alone has no job run in another queue.
  if kind and (its_queue ~= c.queue or from.of_type and from.of_type ~= kind) then
    if places.place_at_home(step, id, record) then
      c.misplaced = c.misplaced + 1
      return add_one(step.changes.leaving, from.key, id)
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

-- The next of some lines, at most `count`: ids, and the line of each.
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
-- What they have of throttlers. Who was never started and waits in the main line has nothing yet.
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
  for id, a in pairs(admissions.admissions_of(step, may_have)) do c.had[id] = a end
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
-- The lines behind the front: the main one, suspects where they may be taken, and those of types that are known.
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
-- Of jobs, nothing is written before all is known.
local function choose(step, c)
  for _, plan in ipairs(c.in_order) do
    for _, chain in ipairs(plan.growing) do chaining.grow(step, c, plan, chain.fence, chain.by) end
  end
  drain(step, c, {{key = line(step, 'front', c.queue), seen = 0, of_woken = true}})
  if not c.is_full and c.used < c.most then drain(step, c, other_lines(step, c)) end
end

-- Looks at what the claim itself writes, and moves those whose types nobody knows, and suspects in a main line.
local function move_others(step, c)
  for _, a in pairs(c.had) do
    -- admit_claimed writes there
    for _, resource in ipairs(a.held) do call('HLEN', keys.holders(step, resource)) end
  end
  if next(c.plans) then chaining.check_turns(step) end
  -- More may stand behind those that end in place of their start.
  if #step.changes.ended > 0 and c.looked - #c.ids >= max_moved then hints.has_work(step, c.queue) end
  if #c.parks > 0 then sorted(step, line(step, 'throttled', c.queue)) end
  if #c.unknown > 0 then hints.has_work(step, c.queue) end  -- for who knows their types
  for _, a in ipairs(c.unknown) do
    changes.enter(step, places.type_line(step, c.queue, a[2]), int_text(tonumber(call('ZSCORE', a[3], a[1]))), a[1])
    changes.leave(step, a[3], a[1])
    changes.name(step, types_of(step, c.queue), a[2])
  end
  for _, s in ipairs(c.strays) do
    changes.enter(step, line(step, 'suspect', c.queue), call('ZSCORE', s[2], s[1]), s[1])
    changes.leave(step, s[2], s[1])
  end
  if c.first_id then c.ready_at = tonumber(call('ZSCORE', c.first_key, c.first_id)) end
end
-- The runs of those taken, from this fence on.
local function plan_runs(step, c, fence)
  local rows, processing = step.changes.runs, sorted(step, line(step, 'processing', c.queue))
  chaining.name_chains(c, fence)
  c.until_ = int_text(step.now + c.lease)
  sorted(step, step.keys.ending)
  step.changes.ending[c.queue] = c.until_
  local rest = ' ' .. step.now_text .. ' ' .. c.lease .. ' 0 ' .. c.op .. ' ' .. text(c.queue)
  for i, id in ipairs(c.ids) do
    rows[2 * i - 1], rows[2 * i] = id, int_text(fence + i - 1) .. ' ' .. values.digits(c.attempts[i]) .. ' ' ..
                                       values.digits(c.has[i]) .. rest .. c.permits[i] .. c.server
    lists.add_two(step.changes.entering, processing, c.until_, id)
  end
  c.rows = rows
  if step.has_flow then continuations.plan_starts(step, c.ids) end
end
-- What else a start is, once it is written; adds those taken to the answer.
local function finish_starts(step, c, fence, mark, answer)
  local answered = #answer
  for i, id in ipairs(c.ids) do
    answer[answered + 1], answer[answered + 2], answer[answered + 3] = id, c.until_, c.records[i]
    answer[answered + 4], answer[answered + 5] = c.histories[i], c.rows[2 * i]
    answered = answered + 5
  end
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
-- Whoever would have been overtaken goes on now, if there is room.
local function pass_on_to_overtaken(step, c)
  if c.rooms == none then return end
  local overtaken = {}
  for resource, room in pairs(c.rooms) do
    if room.limit and (c.some_ended or room.waited_for and room.held < room.limit) then
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
  -- Most claims of a server that waits find nothing at all.
  if args[plans_at] == '0' and call('EXISTS', line(step, 'front', queue), line(step, 'ready', queue),
                                    line(step, 'suspect', queue), types_of(step, queue)) == 0 then
    return {'', '', 0, 0, 0, '', 0, ''}
  end
  local c = begin_claim(args, at, plans_at)
  choose(step, c)
  if #c.ids + #c.unknown + #c.strays + #c.parks + c.misplaced + #step.changes.aside + #step.changes.ended == 0 then
    chaining.change_turns(step, c)
    return answer_of(step, c)
  end
  move_others(step, c)
  -- The first of theirs, before whoever is parked: a chain may come back to the line.
  local fence = #c.ids > 0 and numbers.draw(step, #c.ids)
  if fence then plan_runs(step, c, fence) end
  c.some_ended = #step.changes.ended > 0  -- and had permits, maybe
  changes.commit(step)
  if c.just_woken > 0 then  -- nobody else need come for these
    step.woken = step.woken - c.just_woken
    step.woken_in[queue] = (step.woken_in[queue] or 0) - c.just_woken
  end
  local answer = answer_of(step, c)
  if fence then finish_starts(step, c, fence, mark, answer) end
  if #c.parks > 0 then waiting.park_fresh(step, queue, c.parks) end
  chaining.change_turns(step, c)
  for resource in pairs(c.skipped) do waiting.close_empty_line(step, resource, queue) end
  pass_on_to_overtaken(step, c)
  return answer
end
