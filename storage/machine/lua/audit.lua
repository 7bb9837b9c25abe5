-- Reads.
-- Looks at a slice of what is stored; in one step, so that nothing that moves meanwhile looks wrong. Changes nothing.
-- The rules whose findings `repair` can mend stand in shared/mendable_rules.lua.
-- ARGV[3]: what is looked at: all at first, then whatever an answer named; [4]: its key, as it was named; [5]: 0, then
-- the cursor of the last answer; [6]: about how many are looked at.
-- Answer: the cursor, 0 at the end; what is wrong, as sentences; what is to be looked at besides, each as what and key.
-- Each of them costs the same however much is stored, but for `claim_permits`, which are held against all that runs.
local what, key = ARGV[3], ARGV[4]
local besides = {}
local function look_besides(kind, at) besides[#besides + 1], besides[#besides + 2] = kind, at end

-- Whether a fence, a place or a version was ever drawn. Behind what is no number everything was.
local function was_drawn(n) return tonumber(n) <= last_number end
local function is_place(score) return score >= 1 and score % 1 == 0 and was_drawn(score) end

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
local function kinds_of(id, record, queue)
  local kinds, scores = {}, {}
  local function look_in(kind, its)
    local score = call('ZSCORE', its, id)
    if score then kinds[#kinds + 1], scores[#scores + 1] = kind, tonumber(score) end
  end
  for _, kind in ipairs(line_kinds) do look_in(kind, line(kind, queue)) end
  local its_type = type_of(record)
  look_in('type:' .. its_type, type_line(queue, its_type))
  return kinds, scores
end

-- Nothing when it cannot be read, which is told of once, with the admissions.
local function admission_in(id)
  local value = call('HGET', admission, id)
  if not value then return no_admission end
  return read_admission(value)
end
local function exists(id) return call('HEXISTS', jobs, id) == 1 end

local function check_run(id, queue, row, has_history)
  if not row then return wrong('job ', id, ' is processing without a run') end
  local run = read_run(row)
  if not run or not are_texts(run.permits) then
    return wrong('job ', id, ' has a run that cannot be read')
  end
  for _, name in ipairs(permits_in(run.permits)) do
    if call('HEXISTS', claim_permits, name) == 0 or call('HEXISTS', claim_permits, permit_of(name)) == 0 then
      wrong('the claim of job ', id, ' has ', name, ', and the job does not hold it')
    end
  end
  if run.queue ~= queue then wrong('job ', id, ' runs for queue ', run.queue, ' in the line of ', queue) end
  if not was_drawn(run.fence) then wrong('job ', id, ' has a fence that was never drawn') end
  if has_history and has_no_history(run) then
    wrong('job ', id, ' has a history that its run does not know of')
  end
  if is_asked_to_end(run) and not has_history then
    wrong('job ', id, ' is asked to end, and no history says by whom')
  end
end

local function check_waiter(id, queue, arrival)
  local a = admission_in(id)
  if not a then return end
  local score = a.at ~= '' and call('ZSCORE', wait_line(queue, a.at), id)
  if not score then return wrong('job ', id, ' is throttled and waits in no line') end
  if tonumber(score) ~= a.arrival or arrival ~= a.arrival then
    wrong('job ', id, ' waits at another place than it was given')
  end
end

-- A job that is in one line.
local function check_state(id, queue, kind, score, losses)
  local row, has_history = call('HGET', runs, id), call('HEXISTS', history, id) == 1
  if kind == 'processing' then check_run(id, queue, row, has_history)
  elseif row then wrong('job ', id, ' has a run but is ', kind) end
  if kind == 'throttled' then check_waiter(id, queue, score)
  else
    local a = admission_in(id)
    if a and a.at ~= '' then wrong('job ', id, ' waits for ', a.at, ' but is ', kind) end
    if a and a ~= no_admission and is_final_kind(kind) then
      wrong('job ', id, ' is ', kind, ' and has to do with a throttler')
    end
  end
  if kind == 'throttled' or kind == 'awaiting' or is_enqueued(kind) then
    if not is_place(score) then wrong('job ', id, ' has a place that was never drawn') end
  elseif not is_instant(score) then wrong('job ', id, ' is ', kind, ' at no instant') end
  if losses and is_suspect(losses) and (kind == 'ready' or kind == 'front') then
    wrong('job ', id, ' is a suspect but is ', kind)
  elseif losses and not is_suspect(losses) and kind == 'suspect' then
    wrong('job ', id, ' is in the line of suspects and was not lost so often')
  end
end

function look.jobs(id, record)
  local queue = queue_of(record)
  if not queue then return wrong('job ', id, ' has a record that cannot be read') end
  local p = read_history(call('HGET', history, id))
  if not p or not are_texts(p.ended_runs, p.n) then wrong('job ', id, ' has a history that cannot be read')
  elseif not was_drawn(p.settled) then wrong('job ', id, ' has a history with a fence that was never drawn') end
  local kinds, scores = kinds_of(id, record, queue)
  if #kinds == 0 then look_besides('unplaced', id) end
  if #kinds > 1 then
    local names = {}
    for n, kind in ipairs(kinds) do names[n] = kind .. ' of ' .. queue end
    table.sort(names, by_bytes)
    wrong('job ', id, ' is in several lines: ', table.concat(names, ', '))
  end
  if #kinds == 1 then check_state(id, queue, kinds[1], scores[1], p and p.losses) end
end

local function look_for_job(name, id)
  if not exists(id) then wrong('there is ', name, ' of job ', id, ', which does not exist') end
end
function look.runs(id) look_for_job('a run', id) end
function look.history(id) look_for_job('a history', id) end

function look.admission(id, value)
  if not exists(id) then return look_for_job('an admission', id) end
  local a = read_admission(value)
  if not a or write_admission(a) ~= value then
    return wrong('job ', id, ' has an admission that cannot be read')
  end
  local run = read_run(call('HGET', runs, id) or '')
  if run and has_no_admission(run) then
    wrong('job ', id, ' has an admission that its run does not know of')
  end
  for _, resource in ipairs(a.held) do
    if call('HEXISTS', holders(resource), id) == 0 then
      wrong('job ', id, ' has ', resource, ' but does not hold it')
    end
  end
  if not (was_drawn(a.fence) and was_drawn(a.arrival)) then
    wrong('job ', id, ' has an admission with a number that was never drawn')
  end
end

local taken  -- by claims, of each resource
local function count_of(resource)
  taken = taken or claims_by_rows()
  return taken[resource] or 0
end
function look.claim_permits(resource, said)
  local found = count_of(resource)
  if said ~= int_text(found) then look_besides('count', resource)
  elseif found == 0 then wrong(resource, ' is counted as held by claims, and no run has it') end
  if permit_of(resource) ~= resource then return end
  if found > 0 and not call('ZSCORE', busy, resource) then wrong(resource, ' is held and not listed so') end
end

function look.turns(field, turn)
  local queue, at = text_at(field, 1)
  if not (queue and at <= #field and match(turn, '^%d+ .')) then
    wrong(field, ' has a turn that cannot be read')
  end
end

function look.holders(id, value)
  local resource = sub(key, #holders('') + 1)
  if not exists(id) then return look_besides('permit', reservation(resource, id)) end
  local kind, fence = match(value, '^(%a+) (%d+) %d+$')
  local row = call('HGET', runs, id)
  local run = row and read_run(row)
  local runs_so = run and run.fence == fence
  local of_no_run = fence == '0' and not run
  local good
  if row and not run then good = kind  -- told of with the job
  elseif kind == 'held' then good = runs_so
  elseif kind == 'strict' then good = runs_so or of_no_run
  elseif kind == 'kept' then good = of_no_run
  elseif kind == 'reserved' then good = of_no_run and call('ZSCORE', reserved, reservation(resource, id)) end
  if not good and is_gone_or_final(id) then look_besides('permit', reservation(resource, id))
  elseif not good then wrong(resource, ' is held by job ', id, ' as ', value, ', which it has no right to') end
  local a = admission_in(id)
  if a and not has_permit(a, resource) then wrong(resource, ' is held by job ', id, ', of which it is not known') end
  if not call('ZSCORE', busy, resource) then wrong(resource, ' is held and not listed so') end
end

-- The queue and the resource in the name of a line of waiters.
local function waited_in(its) return match(its, '^([^/]*)/(.*)$', #wait_line('', '')) end
function look.wait(id)
  local queue, resource = waited_in(key)
  if not queue then return end
  local a = admission_in(id)
  if not exists(id) then wrong('job ', id, ' is in the line of ', resource, ' but does not exist')
  elseif a and (a.at ~= resource or not call('ZSCORE', line('throttled', queue), id)) then
    wrong('job ', id, ' is in the line of ', resource, ' but does not wait for it')
  end
  if call('SISMEMBER', waits(resource), queue) == 0 or not call('ZSCORE', waiting, resource) then
    wrong(resource, ' is waited for in queue ', queue, ' and not listed so')
  end
end

function look.waits(queue)
  local resource = sub(key, #waits('') + 1)
  if call('EXISTS', wait_line(queue, resource)) == 0 then
    wrong('nobody of queue ', queue, ' waits for ', resource, ', but it is listed so')
  end
end

-- Lists by name have no scores.
local function check_sorting(resource, score)
  if tonumber(score) ~= 0 then wrong(resource, ' is not listed as ', what, ' by its name') end
end
function look.busy(resource, score)
  local held = call('HLEN', holders(resource)) + (said_count(resource) or 1)  -- what is no count is told of by itself
  if held == 0 then wrong(resource, ' is listed as busy and is not') end
  local is_plain = sub(resource, 1, 6) == 'mutex:' and call('HEXISTS', definitions, resource) == 0
  if is_plain and held > 1 then wrong(resource, ' is held by ', held, ', which is more than one') end
  check_sorting(resource, score)
end
function look.waiting(resource, score)
  if call('EXISTS', waits(resource)) == 0 then wrong(resource, ' is listed as waiting and is not') end
  check_sorting(resource, score)
end
function look.reserved(member, since)
  local resource, behind = text_at(member, 1)
  if not resource or entry_of(resource, sub(member, behind)) ~= 'reserved' then
    wrong(member, ' is listed as reserved and is not')
  elseif not is_instant(tonumber(since)) then wrong(member, ' is reserved since no instant') end
end
function look.next_checks(resource, at)
  if not call('ZSCORE', waiting, resource) then wrong('the line of ', resource, ' has a next check, and nobody waits in it')
  elseif not is_instant(tonumber(at)) then wrong('the next check of the line of ', resource, ' is no instant') end
end

function look.definitions(resource, said)
  if not match(said, '^{.*}$') then wrong(resource, ' has a definition that cannot be read') end
  if sub(resource, 1, 10) == 'semaphore:' and call('HEXISTS', limits, resource) == 0 then
    wrong(resource, ' is defined and has no limit')
  end
end
function look.limits(resource, permits)
  local said = call('HGET', definitions, resource)
  if not said then return wrong(resource, ' has a limit and no definition') end
  if not match(permits, '^%d+$') then return wrong(resource, ' has a limit that cannot be read') end
  local defined = match(said, '"limit":(%d+)')
  if defined and defined ~= permits and not match(said, '"mode":"release"') then
    wrong(resource, ' has a limit of ', permits, ' and is defined with ', defined)
  end
end
function look.configs(resource)
  if call('HEXISTS', definitions, resource) == 0 then wrong(resource, ' has a configuration and no definition') end
end
function look.limiters(limiter, value)
  local at = match(value, '^%d+ ()')
  if not at or not are_texts(sub(value, at), 1) then wrong('limiter ', limiter, ' cannot be read') end
end

function look.locks(resource, value)
  local fence, at = match(value, '^(%d+) %d+ ()')
  if not fence or not text_at(value, at) then wrong('lock ', resource, ' cannot be read')
  elseif not was_drawn(fence) then wrong('lock ', resource, ' has a fence that was never drawn') end
  if not call('ZSCORE', lock_ends, resource) then wrong('lock ', resource, ' is held and has no end') end
end
function look.lock_ends(resource, at)
  if call('HEXISTS', locks, resource) == 0 then wrong('lock ', resource, ' has an end and nobody holds it')
  elseif not is_instant(tonumber(at)) then wrong('lock ', resource, ' ends at no instant') end
end

function look.schedules(name, value)
  local s = read_schedule(value)
  local rest, n = s and s.runs, 0
  while rest and rest ~= '' and n < runs_remembered do
    local _, behind = first_run(rest)
    rest, n = behind, n + 1
  end
  if not call('ZSCORE', schedule_names, name) then wrong('schedule ', name, ' is not listed by its name') end
  if rest ~= '' or n ~= s.n then return wrong('schedule ', name, ' cannot be read') end
  if not was_drawn(s.version) then wrong('schedule ', name, ' has a version that was never drawn') end
end
local function look_for_schedule(name)
  local is_there = call('HEXISTS', schedules, name) == 1
  if not is_there then wrong('schedule ', name, ' is in ', what, ' but is not there') end
  return is_there
end
function look.schedule_names(name, score)
  if look_for_schedule(name) then check_sorting(name, score) end
end
function look.firing(name, at)
  if look_for_schedule(name) and not is_instant(tonumber(at)) then wrong('schedule ', name, ' is due at no instant') end
end
function look.places(name, value)
  if not look_for_schedule(name) then return end
  local number = match(value, '^%d+ %d+ (%d+)$')
  if not number then wrong('schedule ', name, ' has a place that cannot be read')
  elseif not was_drawn(number) then wrong('schedule ', name, ' has a place that was never drawn') end
end

local function look_for_queue(queue)
  if call('SISMEMBER', queues, queue) == 0 then wrong('queue ', queue, ' is in ', what, ' but is not known') end
end
look.due, look.ending, look.paused = look_for_queue, look_for_queue, look_for_queue
function look.served(queue, until_)
  if not is_instant(tonumber(until_)) then wrong('queue ', queue, ' is served until no instant') end
end
function look.claims(mark, op)
  local at = match(mark, '^%d+ ()')
  if not at or not text_at(mark, at) or not match(op, '^%d+$') then
    wrong('the last claim of ', mark, ' cannot be read')
  end
end
function look.servers(id, said)
  local at = match(said, '^%d+ %d+ %-?%d+ %d+ ()')
  if not at or not are_texts(sub(said, at)) then wrong('server ', id, ' cannot be read') end
end

local function wrong_totals(queue)
  wrong(queue == '' and 'the store' or 'queue ' .. queue, ' has totals that cannot be read')
end
function look.totals(queue, value)
  local _, t = read_last(value)
  if not t then wrong_totals(queue) end
end
function look.totals_before(queue, value)
  local _, at = read_totals(value, 1)
  local of_hour, behind = read_totals(value, at and at + 1 or 1)
  if not at or not of_hour or behind <= #value then wrong_totals(queue) end
end
function look.total_list(queue, rows)
  local at = 1
  while at and at <= #rows do
    local its = match(rows, '^,%d+ ()', at)
    local _, behind = read_totals(rows, its or #rows + 1)
    at = behind
  end
  if not at then wrong_totals(queue) end
end
function look.total_sizes(its, size)
  if call('EXISTS', P .. ':' .. its) == 0 then wrong('the totals of ', its, ' are listed and not there')
  elseif not match(size, '^%d+$') or tonumber(size) > max_total_bytes then wrong('the totals of ', its, ' have no size') end
end

function look.kept_bytes(its, value)
  local kind, queue = match(its, '^(%l+):(.*)$')
  if kind ~= 'quarantined' and not is_final_kind(kind or '') or call('SISMEMBER', queues, queue) == 0 then
    wrong('what the jobs of ', its, ' weigh is kept, and there is no such line')
  elseif not match(value, '^%d+ %d+ %d+$') then wrong('what the jobs of ', its, ' weigh cannot be read') end
end

function look.operator_log(value, number)
  local a = read_action(value)
  if not a then wrong('action ', number, ' cannot be read')
  elseif a.number ~= tonumber(number) then wrong('act ', number, ' is not in its place') end
end

-- Any line of a queue, by its key.
local own_lines = {}  -- by queue: the keys of its lines, but for those of types
function look.line(id)
  local record = call('HGET', jobs, id)
  if not record then return wrong('job ', id, ' is in ', key, ' but does not exist') end
  local queue = queue_of(record)
  if not queue then return end
  if not own_lines[queue] then
    own_lines[queue] = {}
    for _, kind in ipairs(line_kinds) do own_lines[queue][line(kind, queue)] = true end
  end
  if not own_lines[queue][key] and key ~= type_line(queue, type_of(record)) then
    wrong('job ', id, ' is in ', key, ', which is not of its queue')
  end
end
function look.quarantined(id, at)
  if call('HEXISTS', quarantine, id) == 0 then wrong('job ', id, ' is in ', key, ' without its bytes')
  elseif not is_instant(tonumber(at)) then wrong('job ', id, ' is in quarantine at no instant') end
end

function look.quarantine(id, bytes)
  if not are_texts(bytes, 3) then wrong('what is in quarantine of job ', id, ' cannot be read') end
end

-- Keys of which there are many, by the word behind the prefix: as what each is looked at.
local many_of = {after = 'after', members = 'members', holders = 'holders', wait = 'wait', waits = 'waits', type = 'line', quarantined = 'quarantined',
                 minutes = 'total_list', hours = 'total_list'}
for _, kind in ipairs(line_kinds) do many_of[kind] = 'line' end

-- Keys that there is one of, by what each is looked at, if it is.
local hashes = {jobs = jobs, flow = flow, held_keys = held_keys, groups = group_counts, runs = runs, history = history, admission = admission, claim_permits = claim_permits, turns = turns,
                locks = locks, places = even_places, schedules = schedules, limits = limits, configs = configs,
                limiters = limiters, claims = claims, servers = servers, definitions = definitions,
                quarantine = quarantine, totals = totals, totals_before = totals_before, total_sizes = total_sizes,
                kept_bytes = kept_bytes}
local sorted_sets = {agenda = agenda, busy = busy, waiting = waiting, reserved = reserved, next_checks = next_checks,
                     lock_ends = lock_ends, schedule_names = schedule_names, firing = firing, due = due, ending = ending,
                     served = served, operator_log = operator_log}
local sets = {queues = queues, paused = paused}
local function is_only_one(its)
  for _, one in ipairs({hashes, sorted_sets, sets, {number_key, schema, flow_mark}}) do
    for _, known in pairs(one) do
      if its == known then return true end
    end
  end
  return false
end
local function is_of_a_queue(kind, rest)
  local queue = rest
  if kind == 'minutes' or kind == 'hours' then return call('HEXISTS', total_sizes, kind .. ':' .. rest) == 1 end
  if kind == 'type' or kind == 'wait' then
    local its, behind = match(rest, '^([^/]*)/(.*)$')
    if kind == 'wait' then return its end
    if not its or call('SISMEMBER', types_of(its), behind) == 0 then return false end
    queue = its
  end
  return (many_of[kind] or kind == 'types') and call('SISMEMBER', queues, queue) == 1
end
function look.keys(its)
  local kind, rest = match(its, '^(%l+):(.*)$', #P + 2)
  if many_of[kind or ''] then look_besides(many_of[kind], its) end
  if kind == 'awaiting' then look_besides('awaiting', its) end
  -- What comes with a resource is looked at by itself.
  if kind == 'holders' or kind == 'waits' or kind == 'after' or kind == 'members' then return end
  if not (kind and is_of_a_queue(kind, rest)) and not is_only_one(its) then wrong('key ', its, ' belongs to nobody') end
end

if what == 'all' then
  if not stored[1] and call('EXISTS', jobs) == 1 then wrong('the store says no layout') end
  if not can_draw then wrong(number_key, ' leaves no number to draw, or is none') end
  local names = {}
  for _, some in ipairs({hashes, sorted_sets, sets}) do
    for name in pairs(some) do names[#names + 1] = name end
  end
  table.sort(names, by_bytes)
  for _, name in ipairs(names) do look_besides(name, hashes[name] or sorted_sets[name] or sets[name]) end
  look_besides('keys', '')
  return {'0', findings, besides}
end

if what == 'keys' then
  -- Only our own: what a pattern would read otherwise is escaped.
  local slice = call('SCAN', ARGV[5], 'MATCH', P:gsub('[*?%[%]\\]', '\\%0') .. ':*', 'COUNT', ARGV[6])
  for _, its in ipairs(slice[2]) do look.keys(its) end
  return {slice[1], findings, besides}
end
local with_values = hashes[what] or what == 'holders' or what == 'total_list'
return {look_through(with_values and 'HSCAN' or (sets[what] or what == 'waits') and 'SSCAN' or 'ZSCAN'), findings, besides}
