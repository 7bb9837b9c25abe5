-- Looks at some ids, or at a key. Changes nothing.
-- ARGV[3]: jobs, starts, past, admission, taken, line, holders, wait, waits, busy, waiting, reserved, locks, lock_ends, firing,
-- places or key. Then for line,
-- holders, wait and waits the key; for all, what it holds: ids, queues, resources, members, or keys.
-- Answer: what is wrong, as sentences.
local t = throttling()
local read_admission, nothing, has, entry_of, reservation =
  t.read_admission, t.nothing, t.has, t.entry_of, t.reservation
local answer = {}
local function wrong(...) answer[#answer + 1] = table.concat({...}) end
local what = ARGV[3]

-- Of its own queue; that a line holds jobs of its own queue only is looked at with the lines.
local function places(id, record)
  local found, queue = {}, queue_of(record)
  local kinds, keys = lines_of(queue)
  for i, key in ipairs(keys) do
    if call('ZSCORE', key, id) then found[#found + 1] = {kind = kinds[i], queue = queue} end
  end
  return found
end

if what == 'jobs' then
  for i = 4, #ARGV do
    local id = ARGV[i]
    local record = call('HGET', jobs, id)
    if record and not queue_of(record) then
      wrong('job ', id, ' has a record that cannot be read')
    elseif record then
      local at = places(id, record)
      local row = call('HGET', starts, id)
      if #at == 0 then wrong('job ', id, ' is in no line') end
      if #at > 1 then
        local names = {}
        for n, p in ipairs(at) do names[n] = p.kind .. ' of ' .. p.queue end
        table.sort(names, by_bytes)
        wrong('job ', id, ' is in several lines: ', table.concat(names, ', '))
      end
      if not read_past(call('HGET', past, id)) then wrong('job ', id, ' has a past that cannot be read') end
      if #at == 1 then
        local runs = at[1].kind == 'processing'
        if runs and not row then wrong('job ', id, ' is processing without a start') end
        if not runs and row then wrong('job ', id, ' has a start but is ', at[1].kind) end
        if runs and row then
          local start = read_start(row)
          for _, resource in ipairs(start and t.taken_in(start.permits) or {}) do
            if call('HEXISTS', taken, resource) == 0 then wrong('job ', id, ' took ', resource, ' but does not hold it') end
          end
          if not start then wrong('job ', id, ' has a start that cannot be read')
          elseif start.queue ~= at[1].queue then wrong('job ', id, ' runs for queue ', start.queue, ' in the line of ', at[1].queue)
          elseif tonumber(start.fence) > last then wrong('job ', id, ' has a fence that was never drawn') end
          if not call('ZSCORE', ending, at[1].queue) then wrong('queue ', at[1].queue, ' has leases that nobody looks at') end
        end
        local a = read_admission(call('HGET', admission, id) or '') or nothing
        if at[1].kind == 'throttled' and
           (a.at == '' or not call('ZSCORE', wait_line(at[1].queue, a.at), id)) then
          wrong('job ', id, ' is throttled and waits in no line')
        end
        if at[1].kind ~= 'throttled' and a.at ~= '' then wrong('job ', id, ' waits for ', a.at, ' but is ', at[1].kind) end
        if at[1].kind == 'scheduled' then
          local first = call('ZRANGE', line('scheduled', at[1].queue), 0, 0, 'WITHSCORES')
          local told = call('ZSCORE', due, at[1].queue)
          if not told or tonumber(told) ~= tonumber(first[2]) then
            wrong('queue ', at[1].queue, ' has due jobs that nobody looks at')
          end
        end
      end
    end
  end
elseif what == 'starts' or what == 'past' then
  for i = 4, #ARGV do
    if call('HEXISTS', P .. ':' .. what, ARGV[i]) == 1 and call('HEXISTS', jobs, ARGV[i]) == 0 then
      wrong('there is a ', what == 'past' and 'past' or 'start', ' of job ', ARGV[i], ', which does not exist')
    end
  end
elseif what == 'admission' then
  for i = 4, #ARGV do
    local id = ARGV[i]
    local value, record = call('HGET', admission, id), call('HGET', jobs, id)
    local a = value and read_admission(value)
    if value and not a then wrong('job ', id, ' has an admission that cannot be read') end
    local start = read_start(call('HGET', starts, id) or '')
    if value and start and (start.has == '0' or start.has == '1') then wrong('job ', id, ' has an admission that its start does not know of') end
    if value and not record then wrong('there is an admission of job ', id, ', which does not exist') end
    for _, resource in ipairs(a and a.held or {}) do
      if call('HEXISTS', holders(resource), id) == 0 then wrong('job ', id, ' has ', resource, ' but does not hold it') end
    end
    if a and record and queue_of(record) then
      for _, p in ipairs(places(id, record)) do
        for _, kind in ipairs(final_kinds) do
          if p.kind == kind then wrong('job ', id, ' is ', kind, ' and has to do with a throttler') end
        end
      end
    end
  end
elseif what == 'taken' then
  local counts = {}
  for _, row in ipairs(call('HVALS', starts)) do
    local start = read_start(row)
    for _, resource in ipairs(start and t.taken_in(start.permits) or {}) do counts[resource] = (counts[resource] or 0) + 1 end
  end
  for i = 4, #ARGV do
    local n, found = tonumber(call('HGET', taken, ARGV[i]) or '0'), counts[ARGV[i]] or 0
    if n ~= found then wrong(ARGV[i], ' is counted as taken by ', n, ' starts, and ', found, ' took it') end
    if n > 0 and not call('ZSCORE', busy, ARGV[i]) then wrong(ARGV[i], ' is held and not listed so') end
  end
elseif what == 'holders' then
  local resource = sub(ARGV[4], #holders('') + 1)
  for i = 5, #ARGV do
    local id = ARGV[i]
    local value = call('HGET', holders(resource), id)
    if value then
      local kind, fence = match(value, '^(%a+) (%d+) %d+$')
      local start = read_start(call('HGET', starts, id) or '')
      local runs_so = start and start.fence == fence
      local good
      if kind == 'held' then good = runs_so
      elseif kind == 'strict' then good = runs_so or (fence == '0' and not start)
      elseif kind == 'kept' then good = fence == '0' and not start
      elseif kind == 'reserved' then good = fence == '0' and not start and call('ZSCORE', reserved, reservation(resource, id)) end
      if not good then wrong(resource, ' is held by job ', id, ' as ', value, ', which it has no right to') end
      if call('HEXISTS', jobs, id) == 0 then wrong(resource, ' is held by job ', id, ', which does not exist') end
      if not has(read_admission(call('HGET', admission, id) or '') or nothing, resource) then
        wrong(resource, ' is held by job ', id, ', of which it is not known')
      end
      if not call('ZSCORE', busy, resource) then wrong(resource, ' is held and not listed so') end
    end
  end
elseif what == 'wait' then
  local queue, resource = match(sub(ARGV[4], #P + 7), '^([^/]*)/(.*)$')
  for i = 5, #ARGV do
    if queue and call('ZSCORE', ARGV[4], ARGV[i]) then
      local a = read_admission(call('HGET', admission, ARGV[i]) or '') or nothing
      if a.at ~= resource or not call('ZSCORE', line('throttled', queue), ARGV[i]) then
        wrong('job ', ARGV[i], ' is in the line of ', resource, ' but does not wait for it')
      end
      if call('SISMEMBER', waits(resource), queue) == 0 or not call('ZSCORE', waiting, resource) then
        wrong(resource, ' is waited for in queue ', queue, ' and not listed so')
      end
    end
  end
elseif what == 'waits' then
  for i = 5, #ARGV do
    local resource = sub(ARGV[4], #waits('') + 1)
    if call('SISMEMBER', ARGV[4], ARGV[i]) == 1 and call('EXISTS', wait_line(ARGV[i], resource)) == 0 then
      wrong('nobody of queue ', ARGV[i], ' waits for ', resource, ', but it is listed so')
    end
  end
elseif what == 'busy' or what == 'waiting' then
  for i = 4, #ARGV do
    local there = what == 'busy' and t.held_of(ARGV[i]) > 0 or what == 'waiting' and call('EXISTS', waits(ARGV[i])) == 1
    if call('ZSCORE', P .. ':' .. what, ARGV[i]) and not there then
      wrong(ARGV[i], ' is listed as ', what, ' and is not')
    end
  end
elseif what == 'reserved' then
  for i = 4, #ARGV do
    local resource, behind = text_at(ARGV[i], 1)
    if call('ZSCORE', reserved, ARGV[i]) and
       (not resource or entry_of(resource, sub(ARGV[i], behind)) ~= 'reserved') then
      wrong(ARGV[i], ' is listed as reserved and is not')
    end
  end
elseif what == 'locks' then
  for i = 4, #ARGV do
    local value = call('HGET', locks, ARGV[i])
    if value then
      local fence, at = match(value, '^(%d+) %d+ ()')
      if not fence or not text_at(value, at) then wrong('lock ', ARGV[i], ' cannot be read')
      elseif tonumber(fence) > last then wrong('lock ', ARGV[i], ' has a fence that was never drawn') end
      if not call('ZSCORE', lock_ends, ARGV[i]) then wrong('lock ', ARGV[i], ' is held and has no end') end
    end
  end
elseif what == 'lock_ends' then
  for i = 4, #ARGV do
    if call('ZSCORE', lock_ends, ARGV[i]) and call('HEXISTS', locks, ARGV[i]) == 0 then
      wrong('lock ', ARGV[i], ' has an end and nobody holds it')
    end
  end
elseif what == 'firing' or what == 'places' then
  for i = 4, #ARGV do
    if call('HEXISTS', schedules, ARGV[i]) == 0 then wrong('schedule ', ARGV[i], ' is in ', what, ' but is not there') end
  end
elseif what == 'line' then
  for i = 5, #ARGV do
    if call('ZSCORE', ARGV[4], ARGV[i]) then
      local record = call('HGET', jobs, ARGV[i])
      if not record then
        wrong('job ', ARGV[i], ' is in ', ARGV[4], ' but does not exist')
      elseif queue_of(record) then
        local mine, _, keys = false, lines_of(queue_of(record))
        for _, key in ipairs(keys) do mine = mine or key == ARGV[4] end
        if not mine then wrong('job ', ARGV[i], ' is in ', ARGV[4], ', which is not of its queue') end
      end
    end
  end
elseif what == 'key' then
  local known = {}
  for _, key in ipairs({jobs, past, starts, quarantine, queues, paused, claims, servers, number_key, due, ending, schema,
                          admission, taken, limits, definitions, configs, cells, busy, waiting, reserved, openings, served,
                          locks, lock_ends, schedules, firing, even_places}) do
    known[key] = true
  end
  for _, queue in ipairs(call('SMEMBERS', queues)) do
    local _, keys = lines_of(queue)
    for _, key in ipairs(keys) do known[key] = true end
    known[types_of(queue)], known[line('quarantined', queue)] = true, true
  end
  -- What comes with a resource is looked at by itself.
  local function is_of_resource(key)
    for _, start in ipairs({holders(''), waits(''), P .. ':wait:'}) do
      if sub(key, 1, #start) == start then return true end
    end
    return false
  end
  for i = 4, #ARGV do
    if not known[ARGV[i]] and not is_of_resource(ARGV[i]) then wrong('key ', ARGV[i], ' belongs to nobody') end
  end
end
return answer
