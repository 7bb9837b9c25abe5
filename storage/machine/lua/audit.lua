-- Reads.
-- Looks at a slice of what is stored; in one step, so that nothing that moves meanwhile looks wrong. Changes nothing.
-- ARGV[3]: what is looked at: all at first, then whatever an answer named; [4]: its key, as it was named; [5]: 0, then
-- the cursor of the last answer; [6]: about how many are looked at.
-- Answer: the cursor, 0 at the end; what is wrong, as sentences; what is to be looked at besides, each as what and key.
local what, key = ARGV[3], ARGV[4]
local findings, besides = {}, {}
local function wrong(...) findings[#findings + 1] = table.concat({...}) end
local function look_besides(kind, at) besides[#besides + 1], besides[#besides + 2] = kind, at end

-- The kinds of the lines of a queue that a job is in. That a line holds jobs of its own queue only is looked at with
-- the lines.
local function kinds_of(id, queue)
  local found, kinds, lines = {}, lines_of(queue)
  for i, its in ipairs(lines) do
    if call('ZSCORE', its, id) then found[#found + 1] = kinds[i] end
  end
  return found
end

local function look_at_start(id, queue, row)
  if not row then return wrong('job ', id, ' is processing without a start') end
  local start = read_start(row)
  for _, resource in ipairs(start and permits_in(start.permits) or {}) do
    if call('HEXISTS', claim_permits, resource) == 0 then
      wrong('job ', id, ' took ', resource, ' but does not hold it')
    end
  end
  if not start then wrong('job ', id, ' has a start that cannot be read')
  elseif start.queue ~= queue then wrong('job ', id, ' runs for queue ', start.queue, ' in the line of ', queue)
  elseif tonumber(start.fence) > last_number then wrong('job ', id, ' has a fence that was never drawn') end
  if not call('ZSCORE', ending, queue) then wrong('queue ', queue, ' has leases that nobody looks at') end
end

-- A job that is in one line.
local function look_at_state(id, queue, kind)
  local row = call('HGET', runs, id)
  if kind == 'processing' then look_at_start(id, queue, row)
  elseif row then wrong('job ', id, ' has a start but is ', kind) end
  local a = read_admission(call('HGET', admission, id) or '') or no_admission
  if kind == 'throttled' and (a.at == '' or not call('ZSCORE', wait_line(queue, a.at), id)) then
    wrong('job ', id, ' is throttled and waits in no line')
  end
  if kind ~= 'throttled' and a.at ~= '' then wrong('job ', id, ' waits for ', a.at, ' but is ', kind) end
  if kind == 'scheduled' then
    local first, told = call('ZRANGE', line('scheduled', queue), 0, 0, 'WITHSCORES'), call('ZSCORE', due, queue)
    if not told or tonumber(told) ~= tonumber(first[2]) then
      wrong('queue ', queue, ' has due jobs that nobody looks at')
    end
  end
end

-- What is looked at: given each of it, with what a hash has under it.
local look = {}

function look.jobs(id, record)
  local queue = queue_of(record)
  if not queue then return wrong('job ', id, ' has a record that cannot be read') end
  local kinds = kinds_of(id, queue)
  if #kinds == 0 then wrong('job ', id, ' is in no line') end
  if #kinds > 1 then
    local names = {}
    for n, kind in ipairs(kinds) do names[n] = kind .. ' of ' .. queue end
    table.sort(names, by_bytes)
    wrong('job ', id, ' is in several lines: ', table.concat(names, ', '))
  end
  if not read_past(call('HGET', past, id)) then wrong('job ', id, ' has a past that cannot be read') end
  if #kinds == 1 then look_at_state(id, queue, kinds[1]) end
end

local function look_for_job(name, id)
  if call('HEXISTS', jobs, id) == 0 then wrong('there is ', name, ' of job ', id, ', which does not exist') end
end
function look.runs(id) look_for_job('a start', id) end
function look.past(id) look_for_job('a past', id) end

function look.admission(id, value)
  local a, record = read_admission(value), call('HGET', jobs, id)
  if not a then wrong('job ', id, ' has an admission that cannot be read') end
  local start = read_start(call('HGET', runs, id) or '')
  if start and (start.has == '0' or start.has == '1') then
    wrong('job ', id, ' has an admission that its start does not know of')
  end
  look_for_job('an admission', id)
  for _, resource in ipairs(a and a.held or {}) do
    if call('HEXISTS', holders(resource), id) == 0 then
      wrong('job ', id, ' has ', resource, ' but does not hold it')
    end
  end
  local queue = a and record and queue_of(record)
  for _, kind in ipairs(queue and kinds_of(id, queue) or {}) do
    for _, final in ipairs(final_kinds) do
      if kind == final then wrong('job ', id, ' is ', kind, ' and has to do with a throttler') end
    end
  end
end

local took  -- how many starts took each resource
local function count_of(resource)
  if not took then
    took = {}
    for _, its in ipairs(all_runs()) do
      local start = read_start(its.row)
      for _, one in ipairs(start and permits_in(start.permits) or {}) do took[one] = (took[one] or 0) + 1 end
    end
  end
  return took[resource] or 0
end
function look.claim_permits(resource, counted)
  local n, found = tonumber(counted) or 0, count_of(resource)
  if n ~= found then wrong(resource, ' is counted as taken by ', n, ' starts, and ', found, ' took it') end
  if n > 0 and not call('ZSCORE', busy, resource) then wrong(resource, ' is held and not listed so') end
end

function look.holders(id, value)
  local resource = sub(key, #holders('') + 1)
  local kind, fence = match(value, '^(%a+) (%d+) %d+$')
  local start = read_start(call('HGET', runs, id) or '')
  local runs_so, runs_not = start and start.fence == fence, fence == '0' and not start
  local good
  if kind == 'held' then good = runs_so
  elseif kind == 'strict' then good = runs_so or runs_not
  elseif kind == 'kept' then good = runs_not
  elseif kind == 'reserved' then good = runs_not and call('ZSCORE', reserved, reservation(resource, id)) end
  if not good then wrong(resource, ' is held by job ', id, ' as ', value, ', which it has no right to') end
  if call('HEXISTS', jobs, id) == 0 then wrong(resource, ' is held by job ', id, ', which does not exist') end
  if not has_permit(read_admission(call('HGET', admission, id) or '') or no_admission, resource) then
    wrong(resource, ' is held by job ', id, ', of which it is not known')
  end
  if not call('ZSCORE', busy, resource) then wrong(resource, ' is held and not listed so') end
end

function look.wait(id)
  local queue, resource = match(sub(key, #P + 7), '^([^/]*)/(.*)$')
  if not queue then return end
  local a = read_admission(call('HGET', admission, id) or '') or no_admission
  if a.at ~= resource or not call('ZSCORE', line('throttled', queue), id) then
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

function look.busy(resource)
  if held_of(resource) <= 0 then wrong(resource, ' is listed as busy and is not') end
end
function look.waiting(resource)
  if call('EXISTS', waits(resource)) == 0 then wrong(resource, ' is listed as waiting and is not') end
end
function look.reserved(member)
  local resource, behind = text_at(member, 1)
  if not resource or entry_of(resource, sub(member, behind)) ~= 'reserved' then
    wrong(member, ' is listed as reserved and is not')
  end
end

function look.locks(resource, value)
  local fence, at = match(value, '^(%d+) %d+ ()')
  if not fence or not text_at(value, at) then wrong('lock ', resource, ' cannot be read')
  elseif tonumber(fence) > last_number then wrong('lock ', resource, ' has a fence that was never drawn') end
  if not call('ZSCORE', lock_ends, resource) then wrong('lock ', resource, ' is held and has no end') end
end
function look.lock_ends(resource)
  if call('HEXISTS', locks, resource) == 0 then wrong('lock ', resource, ' has an end and nobody holds it') end
end

local function look_for_schedule(name)
  if call('HEXISTS', schedules, name) == 0 then wrong('schedule ', name, ' is in ', what, ' but is not there') end
end
look.firing, look.places = look_for_schedule, look_for_schedule

-- Any line of a queue, by its key.
function look.line(id)
  local record = call('HGET', jobs, id)
  if not record then return wrong('job ', id, ' is in ', key, ' but does not exist') end
  local queue = queue_of(record)
  if not queue then return end
  local _, lines = lines_of(queue)
  for _, its in ipairs(lines) do
    if its == key then return end
  end
  wrong('job ', id, ' is in ', key, ', which is not of its queue')
end

-- Keys of which there are many, by the word behind the prefix: as what each is looked at.
local many_of = {holders = 'holders', wait = 'wait', waits = 'waits'}
for _, kind in ipairs({'ready', 'front', 'suspect', 'type', 'scheduled', 'processing', 'throttled', 'succeeded',
                       'failed', 'deleted'}) do
  many_of[kind] = 'line'
end

local known
local function read_known()
  known = {}
  for _, its in ipairs({jobs, past, runs, quarantine, queues, paused, claims, servers, number_key, due, ending, schema,
                        admission, claim_permits, limits, definitions, configs, limiters, busy, waiting, reserved,
                        next_checks, served, locks, lock_ends, schedules, firing, even_places}) do
    known[its] = true
  end
  for _, queue in ipairs(call('SMEMBERS', queues)) do
    local _, lines = lines_of(queue)
    for _, its in ipairs(lines) do known[its] = true end
    known[types_of(queue)], known[line('quarantined', queue)] = true, true
  end
end
function look.keys(its)
  if not known then read_known() end
  local kind = many_of[match(its, '^(%l+):', #P + 2) or '']
  if kind then look_besides(kind, its) end
  -- What comes with a resource is looked at by itself.
  if not known[its] and (not kind or kind == 'line') then wrong('key ', its, ' belongs to nobody') end
end

if what == 'all' then
  if not can_draw then wrong(number_key, ' is behind all that can be drawn, or no number') end
  look_besides('jobs', jobs)
  look_besides('runs', runs)
  look_besides('past', past)
  look_besides('admission', admission)
  look_besides('claim_permits', claim_permits)
  look_besides('locks', locks)
  look_besides('places', even_places)
  look_besides('busy', busy)
  look_besides('waiting', waiting)
  look_besides('reserved', reserved)
  look_besides('lock_ends', lock_ends)
  look_besides('firing', firing)
  look_besides('keys', '')
  return {'0', findings, besides}
end

local of_hash = {jobs = true, runs = true, past = true, admission = true, claim_permits = true, locks = true,
                 places = true, holders = true}
local slice
if what == 'keys' then
  -- Only our own: what a pattern would read otherwise is escaped.
  slice = call('SCAN', ARGV[5], 'MATCH', P:gsub('[*?%[%]\\]', '\\%0') .. ':*', 'COUNT', ARGV[6])
else
  slice = call(of_hash[what] and 'HSCAN' or what == 'waits' and 'SSCAN' or 'ZSCAN', key, ARGV[5], 'COUNT', ARGV[6])
end
local cursor, found = slice[1], slice[2]
if what == 'keys' or what == 'waits' then
  for _, one in ipairs(found) do look[what](one) end
else
  for i = 1, #found, 2 do look[what](found[i], found[i + 1]) end
end
return {cursor, findings, besides}
