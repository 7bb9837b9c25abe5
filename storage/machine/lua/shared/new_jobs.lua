-- Stores new jobs, for scripts that do. `at`: where each begins in ARGV: id, queue, delay in microseconds, record.
-- Answers for each job: empty when it was stored, else the record that stands under its id already; and whether any
-- was stored. Looks at all that it will touch before it writes; `finish` is left to the caller.
-- Invariant: a job that is stored is in one line, and its queue is known.
local function store_new(at)
  local ids = {}
  for n = 1, #at do ids[n] = ARGV[at[n]] end
  local answer = many('HMGET', jobs, ids)

  local records, mine, came, queue_list = {}, {}, {}, {}
  local ready, scheduled, earliest = {}, {}, {}  -- by queue: what its lines are given, and the earliest instant
  for n = 1, #ids do
    local id = ids[n]
    local there = mine[id] or answer[n]
    if there and (mine[id] or not is_half_stored(id, there)) then
      answer[n] = there
    else
      local from, size = at[n], #records
      local queue, delay, record = ARGV[from + 1], tonumber(ARGV[from + 2]), ARGV[from + 3]
      answer[n], mine[id] = '', record
      records[size + 1], records[size + 2] = id, record
      local its = came[queue]
      if not its then
        its = {enqueued = 0}
        came[queue], queue_list[#queue_list + 1] = its, queue
      end
      its.enqueued = its.enqueued + 1
      local kind, lists, score = 'ready', ready, nil
      if delay > 0 then
        kind, lists, score = 'scheduled', scheduled, now + delay
        earliest[queue] = math.min(earliest[queue] or score, score)
      else
        score = draw(1)
      end
      local list = lists[queue]
      if list then
        local last = #list
        list[last + 1], list[last + 2] = int_text(score), id
      else
        call('ZCARD', line(kind, queue))
        if delay > 0 then call('ZCARD', due) end
        lists[queue] = {int_text(score), id}
      end
    end
  end
  if #records == 0 then return answer, false end

  say_layout()
  call('SADD', queues, unpack(queue_list))  -- first: it looks at the type too, and a queue without jobs does no harm
  keep_totals(came)
  many('HSET', jobs, records)
  for n = 1, #queue_list do
    local queue = queue_list[n]
    local now_ready, later = ready[queue], scheduled[queue]
    if now_ready then
      many('ZADD', line('ready', queue), now_ready)
      has_work(queue)
    end
    if later then
      many('ZADD', line('scheduled', queue), later)
      call('ZADD', due, 'LT', int_text(earliest[queue]), queue)
      has_work('@')
    end
  end
  return answer, true
end
