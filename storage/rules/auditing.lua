-- What the audit looks at besides what can be mended (mending.lua).
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

-- Whether a fence, a place or a version was ever drawn. Behind what is no number everything was.
local function was_drawn(step, n) return tonumber(n) <= step.last_number end
local function is_place(step, score) return score >= 1 and score % 1 == 0 and was_drawn(step, score) end

-- Whether this is so many texts, one behind the other, and nothing else; any number of them when none is said.
local function are_texts(s, n)
  local at, found = 1, 0
  while at and at <= #s do
    local _, behind = text_at(s, at)
    at, found = behind, found + 1
  end
  return at and found == (n or found)
end

-- The lines of its queue and type that a job is in: kinds and scores. That a line holds only jobs of its own is looked
-- at with the lines.
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

-- Nothing when it cannot be read, which is told of once, with the admissions.
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

-- A job that is in one line.
local function check_state(step, id, queue, kind, score, losses)
  local row, has_history = call('HGET', step.keys.runs, id), call('HEXISTS', step.keys.history, id) == 1
  if kind == 'processing' then check_run(step, id, queue, row, has_history)
  elseif row then wrong(step, 'job ', id, ' has a run but is ', kind) end
  if kind == 'throttled' then check_waiter(step, id, queue, score)
  else
    local a = admission_in(step, id)
    if a and a.at ~= '' then wrong(step, 'job ', id, ' waits for ', a.at, ' but is ', kind) end
    if a and a ~= admissions.no_admission and places.is_final(kind) then
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

-- The queue and the resource in the name of a line of waiters.
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

-- Lists by name have no scores.
local function check_sorting(step, resource, score)
  if tonumber(score) ~= 0 then wrong(step, resource, ' is not listed as ', step.args[3], ' by its name') end
end
function look.busy(step, resource, score)
  -- what is no count is told of by itself
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
  if not call('ZSCORE', step.keys.schedule_names, name) then
    wrong(step, 'schedule ', name, ' is not listed by its name')
  end
  if not s then return wrong(step, 'schedule ', name, ' cannot be read') end
  if s.lost_runs > 0 then wrong(step, 'schedule ', name, ' has runs that cannot be read') end
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
  local place = schedule_views.place_of(value)
  if not place then wrong(step, 'schedule ', name, ' has a place that cannot be read')
  elseif not was_drawn(step, place.number) then wrong(step, 'schedule ', name, ' has a place that was never drawn') end
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
  if not values.read_server(said) then wrong(step, 'server ', id, ' cannot be read') end
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
  if kind ~= 'quarantined' and not places.is_final(kind or '') or
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

-- Any line of a queue, by its key.
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

-- Keys of which there are many, by the word behind the prefix: as what each is looked at.
local many_of = {after = 'after', members = 'members', holders = 'holders', wait = 'wait', waits = 'waits',
                 type = 'line', quarantined = 'quarantined',
                 minutes = 'total_list', hours = 'total_list'}
for i = 1, #line_kinds do many_of[line_kinds[i]] = 'line' end

-- Keys that there is one of, by what each is looked at, if it is.
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
  -- What comes with a resource is looked at by itself.
  if kind == 'holders' or kind == 'waits' or kind == 'after' or kind == 'members' then return end
  if not (kind and is_of_a_queue(step, kind, rest)) and not is_only_one(step, its) then
    wrong(step, 'key ', its, ' belongs to nobody')
  end
end

-- See calls/audit.lua.
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
    -- Only our own: what a pattern would read otherwise is escaped.
    local slice = call('SCAN', step.args[5], 'MATCH', step.prefix:gsub('[*?%[%]\\]', '\\%0') .. ':*', 'COUNT',
                             step.args[6])
    for _, its in ipairs(slice[2]) do look.keys(step, its) end
    return {slice[1], step.findings, step.besides}
  end
  local with_values = hashes[what] or what == 'holders' or what == 'total_list'
  return {mending.look_through(step, with_values and 'HSCAN' or (sets[what] or what == 'waits') and 'SSCAN' or 'ZSCAN'),
          step.findings, step.besides}
end
