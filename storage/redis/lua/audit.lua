-- Looks at some ids, or at a key. Changes nothing.
-- ARGV[3]: jobs, starts, past, line or key; then for jobs, starts and past the ids, for line the line's key and ids of it,
-- for key the keys.
-- Answer: what is wrong, as sentences.
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
        table.sort(names)
        wrong('job ', id, ' is in several lines: ', table.concat(names, ', '))
      end
      if not read_past(call('HGET', past, id)) then wrong('job ', id, ' has a past that cannot be read') end
      if #at == 1 then
        local runs = at[1].kind == 'processing'
        if runs and not row then wrong('job ', id, ' is processing without a start') end
        if not runs and row then wrong('job ', id, ' has a start but is ', at[1].kind) end
        if runs and row then
          local start = read_start(row)
          if not start then wrong('job ', id, ' has a start that cannot be read')
          elseif start.queue ~= at[1].queue then wrong('job ', id, ' runs for queue ', start.queue, ' in the line of ', at[1].queue)
          elseif tonumber(start.fence) > last then wrong('job ', id, ' has a fence that was never drawn') end
          if not call('ZSCORE', ending, at[1].queue) then wrong('queue ', at[1].queue, ' has leases that nobody looks at') end
        end
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
  for _, key in ipairs({jobs, past, starts, quarantine, queues, paused, claims, servers, number_key, due, ending, schema}) do
    known[key] = true
  end
  for _, queue in ipairs(call('SMEMBERS', queues)) do
    local _, keys = lines_of(queue)
    for _, key in ipairs(keys) do known[key] = true end
    known[types_of(queue)], known[line('quarantined', queue)] = true, true
  end
  for i = 4, #ARGV do
    if not known[ARGV[i]] then wrong('key ', ARGV[i], ' belongs to nobody') end
  end
end
return answer
