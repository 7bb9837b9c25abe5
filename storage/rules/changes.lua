-- What a step changes of jobs. A call decides first, and whatever it decides stands in `step.changes`; `commit` writes
-- it, for every call in the same order: totals, new jobs, lines, runs, histories, what jobs have to do with others, who
-- is put aside, and permits last.
local add_one, add_two, each_list, many = lists.add_one, lists.add_two, lists.each_list, lists.many
local sorted = base.sorted

-- Its fields, which are empty until something is put there.
local nothing = {}  -- is never written to
local empty = {
  records = nothing, queues = nothing,     -- of new jobs: id and record in turn; and by name, their queues
  named = nothing,                         -- members of sets, by key
  entering = nothing, leaving = nothing,   -- ids, with their scores where they enter, by the key of the line
  staying = nothing,                       -- who has another place in its line; before somebody leaves
  moved = nothing,                         -- by id: it waited, and leaves its line
  earliest = nothing, refresh = nothing,   -- by queue: when the first one that enters its scheduled line is due;
                                           -- and somebody leaves that line
  histories = nothing, runs = nothing,     -- id and value in turn
  runs_over = nothing, took = nothing,     -- ids; and by the place of each the permits in its row, if any
  admitted = nothing, is_final = nothing,  -- who of these may have more of throttlers; and by id, who is final
  returned = nothing,                      -- runs that wait again in the line of their chain's permit
  forgotten = nothing,                     -- who leaves all that it has of throttlers: id, and row of its run, if any
  ending = nothing,                        -- by queue: the first end of the leases of those that begin to run
  aside = nothing,                         -- who cannot be read, see put_aside
  ended = nothing,                         -- jobs and groups that end: id, and how; `next_end`: the first untold
  edges = nothing, dropped = nothing,      -- children and members who come, or change, and who go, by key
  groups_gone = nothing,                   -- names
  owed = nothing,                          -- by what stands in `agenda`: when it is to be done, or false: no more
}
local deciding = {__index = function(c, name)
  if not empty[name] then error('a step changes no ' .. name) end
  c[name] = {}
  return c[name]
end}
local decided = {__index = empty}
function fresh.changes() return setmetatable({next_end = 1}, deciding) end

-- Nobody finds a line of a queue, or of a type, whose name is not in the set of these.
function changes.name(step, set, member)
  call('SCARD', set)
  add_one(step.changes.named, set, member)
end
-- A new job; its place comes besides.
function changes.store(step, id, queue, record)
  local c = step.changes
  local n = #c.records
  c.records[n + 1], c.records[n + 2] = id, record
  if not c.queues[queue] then changes.name(step, step.keys.queues, queue) end
  c.queues[queue] = true
  totals.count_jobs(step, queue, 'enqueued', 1)
end
function changes.enter(step, key, score, id) add_two(step.changes.entering, sorted(step, key), score, id) end
function changes.leave(step, key, id) add_one(step.changes.leaving, sorted(step, key), id) end
-- Enters the scheduled line of a queue.
function changes.schedule(step, queue, at, id)
  local earliest = step.changes.earliest
  sorted(step, step.keys.due)
  changes.enter(step, places.line(step, 'scheduled', queue), base.int_text(at), id)
  earliest[queue] = math.min(earliest[queue] or at, at)
  hints.has_work(step, '@')
end
-- Leaves a line, of which `at` is the place.
function changes.leave_place(step, at, id)
  changes.leave(step, at.key, id)
  if at.kind == 'scheduled' then
    sorted(step, step.keys.due)
    step.changes.refresh[at.queue] = true
  end
end
function changes.set_history(step, id, p, said)
  local histories = step.changes.histories
  local n = #histories
  histories[n + 1], histories[n + 2] = id, values.write_history(p, said)
end
function changes.set_run(step, id, run)
  local runs = step.changes.runs
  local n = #runs
  runs[n + 1], runs[n + 2] = id, values.write_run(run)
end
-- A run is over, and with it what it has of throttlers, but for what its job keeps when it is not final.
-- `permits`: what stands in its row. `may_have`: its job may have something besides.
function changes.end_run(step, id, permits, may_have, is_final)
  local c = step.changes
  local n = #c.runs_over + 1
  c.runs_over[n] = id
  if permits ~= '' then c.took[n] = permits end
  if not may_have then return end
  c.admitted[#c.admitted + 1] = id
  c.is_final[id] = is_final
end
-- A job, or a group, has ended: s, f or d. Others may have to do with it.
function changes.end_for_good(step, id, letter)
  local ended = step.changes.ended
  if step.has_flow then ended[#ended + 1] = {id, letter} end
end
-- A job leaves all that it has of throttlers to others. `row`: that of its run, if it runs.
function changes.forget(step, id, row)
  if row then admissions.check_throttlers(step) end
  if row or admissions.admission_of(step, id) then
    table.insert(step.changes.forgotten, {id = id, row = row})
  end
end
-- Its record or history cannot be read, or stands where it does not belong: out of its line, if it has one, and into
-- quarantine, with all its bytes.
function changes.put_aside(step, id, key, queue)
  local aside = step.changes.aside
  for _, hash in ipairs({step.keys.jobs, step.keys.quarantine}) do call('HLEN', hash) end
  call('SCARD', step.keys.queues)
  sorted(step, places.line(step, 'quarantined', queue))
  admissions.check_throttlers(step)
  aside[#aside + 1] = {id = id, key = key and sorted(step, key), queue = queue}
end
-- The same of a job that is not in the middle of a call. `at`: its place, if it has one.
function changes.put_job_aside(step, id, record, at)
  if at then changes.leave_place(step, at, id) end
  changes.put_aside(step, id, nil, at and at.queue or values.queue_of(record) or constants.default_queue)
end

-- Who is put aside has failed for those that have to do with it, also by this step; unless it had ended and owes that
-- still.
local function plan_end_of_aside(step, id)
  if not flow.flow_of(step, id) and call('HEXISTS', step.keys.flow, id) == 0 then return end
  local agenda = step.keys.agenda
  local owes_it = call('ZSCORE', agenda, 'edges s ' .. id) or call('ZSCORE', agenda, 'edges d ' .. id)
  if not owes_it then flow.owes(step, 'edges f ' .. id) end
end
local function write_aside(step, one)
  local id, queue = one.id, one.queue
  local row = call('HGET', step.keys.runs, id)
  local bytes = {call('HGET', step.keys.jobs, id) or '', call('HGET', step.keys.history, id) or '', row or ''}
  for i, part in ipairs(bytes) do bytes[i] = values.text(part) end
  if one.key then call('ZREM', one.key, id) end
  for _, hash in ipairs({step.keys.jobs, step.keys.history, step.keys.runs}) do call('HDEL', hash, id) end
  call('HSET', step.keys.quarantine, id, table.concat(bytes))
  call('ZADD', places.line(step, 'quarantined', queue), step.now_text, id)
  call('SADD', step.keys.queues, queue)
  waiting.forget_job(step, id, row)
end
-- What comes free goes to who waits for it. `had`: what those of `admitted` have.
local function give_permits_back(step, c, had)
  for _, r in ipairs(c.returned) do
    chaining.return_to_line(step, r.id, r.queue, r.resource, r.fence, had[r.id])
    had[r.id] = nil
  end
  if next(had) or next(c.took) then waiting.give_back(step, c.runs_over, had, c.took, c.is_final) end
  for _, r in ipairs(c.returned) do waiting.pass_on(step, r.resource) end  -- another permit may be free
  for _, one in ipairs(c.forgotten) do waiting.forget_job(step, one.id, one.row) end
end

-- Plans what follows of the ends, and writes all. Whoever calls it has looked at all else that he touches.
function changes.commit(step)
  local c = step.changes
  if step.has_flow then
    continuations.plan_ends(step)
    for _, one in ipairs(c.aside) do plan_end_of_aside(step, one.id) end
  end
  local had = #c.admitted > 0 and admissions.admissions_of(step, c.admitted) or {}
  if next(c.took) then admissions.check_throttlers(step) end
  setmetatable(c, decided)
  step.changes = nil  -- a step may decide again
  totals.keep_totals(step, step.job_counts)
  if #c.records > 0 then base.say_layout(step) end
  each_list(c.named, 'SADD')
  many('HSET', step.keys.jobs, c.records)
  -- A step that Redis stops in its middle leaves no job that moves without a place, none among those that run without a
  -- run, and no line that nobody looks at.
  numbers.keep_number(step)
  many('HSET', step.keys.runs, c.runs)
  for queue, instant in pairs(c.ending) do call('ZADD', step.keys.ending, 'LT', instant, queue) end
  each_list(c.staying, 'ZADD')
  each_list(c.entering, 'ZADD')
  each_list(c.leaving, 'ZREM')
  for queue, instant in pairs(c.earliest) do call('ZADD', step.keys.due, 'LT', base.int_text(instant), queue) end
  for queue in pairs(c.refresh) do places.refresh_due(step, queue) end
  many('HDEL', step.keys.runs, c.runs_over)
  many('HSET', step.keys.history, c.histories)
  if step.has_flow then continuations.write_flow(step, c) end
  -- Before anything is given back: none of them is given what another of them had.
  for _, one in ipairs(c.forgotten) do waiting.leave_line(step, one.id) end
  for _, one in ipairs(c.aside) do write_aside(step, one) end
  give_permits_back(step, c, had)
  numbers.keep_number(step)  -- of who was woken
end
