-- Stores new jobs, for scripts that do. `at`: where each begins in ARGV: id, queue, delay in microseconds, record.
-- Answers for each job: empty when it was stored, else the record that stands under its id already; and whether any
-- was stored. Looks at all that it will touch before it writes; `finish` is left to the caller.
-- Invariant: a job that is stored is in one line, and its queue is known.
local function store_new(at)
  local ids = {}
  for n, from in ipairs(at) do ids[n] = ARGV[from] end
  local stored = many('HMGET', jobs, ids)

  local answer, records, known, queue_list = {}, {}, {}, {}
  local placed, earliest = grouped(), {}
  local mine, tails = {}, 0
  for n, id in ipairs(ids) do
    local there = stored[n] or mine[id]
    if there then
      answer[n] = there
    else
      local from = at[n]
      local queue, delay, record = ARGV[from + 1], tonumber(ARGV[from + 2]), ARGV[from + 3]
      answer[n] = ''
      mine[id] = record
      records[#records + 1] = id
      records[#records + 1] = record
      if not known[queue] then
        known[queue] = {ready = line('ready', queue), scheduled = line('scheduled', queue)}
        queue_list[#queue_list + 1] = queue
      end
      if delay > 0 then
        sorted(due)
        add_two(placed, sorted(known[queue].scheduled), whole(now + delay), id)
        earliest[queue] = math.min(earliest[queue] or now + delay, now + delay)
      else
        tails = tails + 1
        add_two(placed, sorted(known[queue].ready), tails, id)  -- the place is drawn below, when we know how many
      end
    end
  end
  if #records == 0 then return answer, false end

  local first = tails > 0 and draw(tails) or 0
  for queue, keys in pairs(known) do
    local list, later = placed.of[keys.ready], placed.of[keys.scheduled]
    count_jobs(queue, 'enqueued', ((list and #list or 0) + (later and #later or 0)) / 2)
    if list then
      has_work(queue)
      for i = 1, #list, 2 do list[i] = whole(first + list[i] - 1) end
    end
  end
  say_layout()
  call('SADD', queues, unpack(queue_list))  -- first: it looks at the type too, and a queue without jobs does no harm
  keep_totals()
  many('HSET', jobs, records)
  each_list(placed, 'ZADD')
  for queue, instant in pairs(earliest) do
    call('ZADD', due, 'LT', whole(instant), queue)
    has_work('@')
  end
  return answer, true
end
