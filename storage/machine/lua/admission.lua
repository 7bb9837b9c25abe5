-- What the transitions share about permits, lines of waiters and slots; storage/admission.hpp says what they mean.
-- Invariants: a job's admission names exactly the resources that hold an entry of it, and the one line it stands in;
-- `taken` counts the starts whose rows name a resource; `busy`, `waiting` and the sets of queues name exactly what is not
-- empty; `reserved` has each entry of that kind.
--
-- An entry is "kind fence since". held: of the start with that fence; strict: the job's own until it is final;
-- reserved: a woken job's that was not claimed yet; kept: a waiting job's that was woken in vain too often.

-- It is made when somebody has to do with a throttler: functions that nobody calls cost each script some microseconds.
local woken, woken_in = 0, {}  -- of those that waited, and by queue; without those that this step has claimed
local throttling_made
local function throttling()
  if throttling_made then return throttling_made end
  local vain_wakes = 3     -- as in storage/admission.hpp
  local most_woken = 1000  -- by one permit that came free, or one higher limit; those that end, and a rouse, go on

  -- An admission: "first vain fence n m ", then as "length:bytes" the resource it waits for, the n resources it has,
  -- and m times a slot: "until " and its resource. first is the number of its first parking (0: none), vain the wakes
  -- that ended in parking again, fence that of the start that was parked last.
  local alike = {}  -- by text, since most of a batch are; so nobody changes what was read
  local nothing = {first = 0, vain = 0, fence = '0', at = '', held = {}, slots = {}}
  local function read_admission(value)
    if alike[value] then return alike[value] end
    local first, vain, fence, n, m, place = match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) ()')
    if not first then return nil end
    local a = {first = tonumber(first), vain = tonumber(vain), fence = fence, held = {}, slots = {}}
    a.at, place = text_at(value, place)
    for i = 1, tonumber(n) do
      if not place then return nil end
      a.held[i], place = text_at(value, place)
    end
    for i = 1, tonumber(m) do
      local until_, from = match(value, '^(%d+) ()', place or #value + 1)
      if not until_ then return nil end
      a.slots[i] = {until_ = tonumber(until_)}
      a.slots[i].resource, place = text_at(value, from)
    end
    if not place then return nil end
    alike[value] = a
    return a
  end
  local function write_admission(a)
    local parts = {whole(a.first) .. ' ' .. a.vain .. ' ' .. a.fence .. ' ' .. #a.held .. ' ' .. #a.slots .. ' ' .. text(a.at)}
    for _, resource in ipairs(a.held) do parts[#parts + 1] = text(resource) end
    for _, slot in ipairs(a.slots) do parts[#parts + 1] = whole(slot.until_) .. ' ' .. text(slot.resource) end
    return table.concat(parts)
  end
  local function copy_of(a)
    local b = {first = a.first, vain = a.vain, fence = a.fence, at = a.at, held = {}, slots = {}}
    for i, resource in ipairs(a.held) do b.held[i] = resource end
    for i, slot in ipairs(a.slots) do b.slots[i] = slot end
    return b
  end

  -- An admission that cannot be read, from what it stood for: its permits must not be lost with it.
  local function recovered(id)
    local a = copy_of(nothing)
    for _, resource in ipairs(call('ZRANGE', busy, 0, -1)) do
      if call('HEXISTS', holders(resource), id) == 1 then a.held[#a.held + 1] = resource end
    end
    for _, resource in ipairs(call('ZRANGE', waiting, 0, -1)) do
      for _, queue in ipairs(call('SMEMBERS', waits(resource))) do
        local first = call('ZSCORE', wait_line(queue, resource), id)
        if first then a.at, a.first = resource, tonumber(first) end
      end
    end
    return a
  end

  local checked = false
  -- Before the first write of whatever changes admissions, see prelude.lua.
  local function check_admissions()
    if checked then return end
    checked = true
    for _, key in ipairs({taken, limits, definitions, configs, cells}) do call('HLEN', key) end
    for _, key in ipairs({busy, waiting, reserved, openings, served}) do sorted(key) end
  end

  -- Of those that have one. Costs next to nothing while nobody has.
  local function admissions_of(ids)
    local found = {}
    if #ids == 0 or call('HLEN', admission) == 0 then return found end
    check_admissions()
    for i, value in ipairs(many('HMGET', admission, ids)) do
      if value then found[ids[i]] = read_admission(value) or recovered(ids[i]) end
    end
    return found
  end
  local function admission_of(id) return admissions_of({id})[id] end

  local function has(a, resource)
    for _, held in ipairs(a.held) do
      if held == resource then return true end
    end
    return false
  end

  -- The resources that a claim took, as they stand in the row of a start: each as "length:bytes".
  local rows_read = {}  -- by that text, since most of a batch are alike; so nobody changes what was read
  local function taken_in(permits)
    local held = rows_read[permits]
    if held then return held end
    held = {}
    local place = 1
    while place and place <= #permits do held[#held + 1], place = text_at(permits, place) end
    rows_read[permits] = held
    return held
  end

  -- How many may have it; nothing when it is not defined, or no such thing as a permit.
  local function limit_of(resource)
    local said = call('HGET', limits, resource)
    if said then return tonumber(said) or 0 end
    return sub(resource, 1, 6) == 'mutex:' and 1 or nil
  end

  local function entry_of(resource, id)
    local kind, _, since = match(call('HGET', holders(resource), id) or '', '^(%a+) (%d+) (%d+)$')
    return kind or 'held', since or now_text
  end
  -- "KIND:NAME/KEY" is a line of the cell "KIND:NAME".
  local function cell_of(resource) return match(resource, '^[^/]*') end
  local function reservation(resource, id) return text(resource) .. id end
  -- Entries of a resource, as id and text in turn.
  local function hold(resource, entries)
    put(holders(resource), entries)
    call('ZADD', busy, 0, resource)
  end
  local function close_unheld(resource)
    if call('EXISTS', holders(resource)) == 0 and call('HEXISTS', taken, resource) == 0 then call('ZREM', busy, resource) end
  end
  local function let_go(resource, ids)
    many('HDEL', holders(resource), ids)
    close_unheld(resource)
  end
  -- Of those whose rows name them.
  local function count_taken(resource, by)
    local n = call('HINCRBY', taken, resource, by)
    if n <= 0 then
      call('HDEL', taken, resource)
      close_unheld(resource)
    elseif n == by then
      call('ZADD', busy, 0, resource)
    end
  end
  local function held_of(resource) return call('HLEN', holders(resource)) + (call('HGET', taken, resource) or 0) end
  -- Gives what its claim took entries of its own, for whatever is not the plain end of a start. The row is the caller's.
  local function unfold(id, start)
    local held = taken_in(start.permits)
    for _, resource in ipairs(held) do
      hold(resource, {id, 'held ' .. start.fence .. ' ' .. start.started})
      count_taken(resource, -1)
    end
    start.permits = ''
    return held
  end

  -- A queue runs when it is not paused and somebody serves it.
  local running = {}
  local function runs(queue)
    if running[queue] == nil then
      local until_ = call('ZSCORE', served, queue)
      running[queue] = until_ and tonumber(until_) > now and call('SISMEMBER', paused, queue) == 0
    end
    return running[queue]
  end

  -- True when a line has waiters and none of their queues runs: nobody can be woken now.
  local function stands_still(resource)
    local queues_of_it = call('SMEMBERS', waits(resource))
    for _, queue in ipairs(queues_of_it) do
      if runs(queue) then return false end
    end
    return #queues_of_it > 0
  end

  local function stand_in_line(id, queue, resource, first)
    call('ZADD', line('throttled', queue), whole(first), id)
    call('ZADD', wait_line(queue, resource), whole(first), id)
    call('SADD', waits(resource), queue)
    call('ZADD', waiting, 0, resource)
  end
  -- After somebody of this queue left the line of a resource.
  local function close_empty(resource, queue)
    if call('EXISTS', wait_line(queue, resource)) == 1 then return end
    call('SREM', waits(resource), queue)
    if call('EXISTS', waits(resource)) == 1 then return end
    call('ZREM', waiting, resource)
    call('ZREM', openings, resource)
  end
  local function leave_line(resource, id)
    for _, queue in ipairs(call('SMEMBERS', waits(resource))) do
      if call('ZREM', wait_line(queue, resource), id) == 1 then
        call('ZREM', line('throttled', queue), id)
        close_empty(resource, queue)
        return
      end
    end
  end

  -- The oldest of a line whose queues run. The cost grows with what is asked for and with queues, not with the line.
  local function first_waiters(resource, count)
    local found, lines = {}, 0
    for _, queue in ipairs(call('SMEMBERS', waits(resource))) do
      if runs(queue) then
        lines = lines + 1
        local rows = call('ZRANGE', wait_line(queue, resource), 0, count - 1, 'WITHSCORES')
        for i = 1, #rows, 2 do found[#found + 1] = {id = rows[i], first = tonumber(rows[i + 1]), queue = queue} end
      end
    end
    if lines > 1 then table.sort(found, function(a, b) return a.first < b.first end) end
    for i = #found, count + 1, -1 do found[i] = nil end
    return found
  end

  -- Moves them to their queues' woken lines, a suspect to its tail; `give` changes the admission of each.
  local function wake(resource, count, give)
    local found, ids = first_waiters(resource, count), {}
    if #found == 0 then return 0 end
    for i, w in ipairs(found) do ids[i] = w.id end
    local pasts, had = many('HMGET', past, ids), admissions_of(ids)
    local leaving, entering, changed, from = grouped(), grouped(), {}, {}
    local place = draw(#found)
    for i, w in ipairs(found) do
      local losses = tonumber(match(pasts[i] or '', '^%d+ (%d+) ') or '0')  -- who claims it will see that it cannot be read
      local a = copy_of(had[w.id] or nothing)
      a.at = ''
      give(a, w.id)
      changed[2 * i - 1], changed[2 * i] = w.id, write_admission(a)
      add_one(leaving, wait_line(w.queue, resource), w.id)
      add_one(leaving, line('throttled', w.queue), w.id)
      add_two(entering, sorted(line(is_suspect(losses) and 'suspect' or 'woken', w.queue)), whole(place + i - 1), w.id)
      from[w.queue] = true
      woken_in[w.queue] = (woken_in[w.queue] or 0) + 1
    end
    each_list(leaving, 'ZREM')
    put(admission, changed)
    each_list(entering, 'ZADD')
    for queue in pairs(from) do close_empty(resource, queue) end
    woken = woken + #found
    return #found
  end

  -- Hands what is free of a resource to those who waited longest.
  local function pass_on(resource)
    if not call('ZSCORE', waiting, resource) then return 0 end
    local limit = limit_of(resource)
    local room = limit and math.min(limit - held_of(resource), most_woken) or 0
    if room <= 0 then return 0 end
    local entries, since = {}, {}
    local got = wake(resource, room, function(a, id)
      a.held[#a.held + 1] = resource
      entries[#entries + 1], entries[#entries + 2] = id, 'reserved 0 ' .. now_text
      since[#since + 1], since[#since + 2] = now_text, reservation(resource, id)
    end)
    if got > 0 then
      hold(resource, entries)
      many('ZADD', reserved, since)
    end
    return got
  end

  -- Ends what these jobs have. What is strict stays with a job that is not final, for no start; the rest goes back and
  -- on, in the order of the jobs. `had`: their admissions, by id; `took`: what stood in the rows of their starts, by
  -- place; both as they were before the first write.
  local function give_back(ids, had, took, is_final)
    local order, entries, counts, gone, changed = {}, {}, {}, {}, {}
    local function freed(resource)
      if not entries[resource] then
        order[#order + 1] = resource
        entries[resource], counts[resource] = {}, 0
      end
    end
    -- Alike ones that follow one another are counted together, as most of a batch are.
    local last, n = nil, 0
    local function count_last()
      for _, resource in ipairs(last and taken_in(last) or {}) do
        freed(resource)
        counts[resource] = counts[resource] + n
      end
    end
    for i, id in ipairs(ids) do
      if took[i] == last then
        n = n + 1
      else
        count_last()
        last, n = took[i], 1
      end
      local a = had[id]
      if a then
        count_last()
        last, n = nil, 0
      end
      if a then
        local own = {}
        for _, resource in ipairs(a.held) do
          local kind, since
          if not is_final[id] then kind, since = entry_of(resource, id) end
          if kind == 'strict' then
            own[#own + 1] = resource
            hold(resource, {id, 'strict 0 ' .. since})
          else
            freed(resource)
            entries[resource][#entries[resource] + 1] = id
          end
        end
        if #own == 0 then
          gone[#gone + 1] = id
        else
          changed[#changed + 1], changed[#changed + 2] = id, write_admission({first = 0, vain = 0, fence = '0', at = '',
                                                                              held = own, slots = {}})
        end
      end
    end
    count_last()
    for _, resource in ipairs(order) do
      if #entries[resource] > 0 then let_go(resource, entries[resource]) end
      if counts[resource] > 0 then count_taken(resource, -counts[resource]) end
    end
    many('HDEL', admission, gone)
    put(admission, changed)
    for _, resource in ipairs(order) do pass_on(resource) end
  end

  -- Ends starts of whom these stood in their rows, `ended` of each, and nothing else.
  local function free(alike)
    local order, counts = {}, {}
    for _, c in ipairs(alike) do
      for _, resource in ipairs(taken_in(c.permits)) do
        if not counts[resource] then order[#order + 1] = resource end
        counts[resource] = (counts[resource] or 0) + c.ended
      end
    end
    for _, resource in ipairs(order) do count_taken(resource, -counts[resource]) end
    for _, resource in ipairs(order) do pass_on(resource) end
  end

  -- The rows of starts count what was taken, whatever was counted so far: one of them could not be read.
  local function count_anew()
    local counts, rows = {}, call('HVALS', starts)
    for _, resource in ipairs(call('HKEYS', taken)) do counts[resource] = 0 end
    for _, row in ipairs(rows) do
      local start = read_start(row)
      for _, resource in ipairs(start and taken_in(start.permits) or {}) do
        counts[resource] = (counts[resource] or 0) + 1
      end
    end
    for resource, n in pairs(counts) do
      count_taken(resource, n - (call('HGET', taken, resource) or 0))
      pass_on(resource)
    end
  end

  -- A job leaves for good, whatever it does now: running, waiting or woken. `row` is that of its start, if it has one,
  -- and is no more.
  local function forget(id, row)
    local start = row and read_start(row)
    local a, took = admission_of(id), start and start.permits ~= '' and start.permits
    if row and not start then
      a = a or recovered(id)
      count_anew()
    end
    if not a and not took then return end
    if a then
      if a.at ~= '' then leave_line(a.at, id) end
      for _, resource in ipairs(a.held) do call('ZREM', reserved, reservation(resource, id)) end
    end
    give_back({id}, {[id] = a}, {took}, {[id] = true})
  end

  -- How a newcomer finds a resource: its limit (nothing: not defined), how many hold it, and whether somebody waits who
  -- would be overtaken.
  local function room_of(resource)
    check_admissions()
    call('SCARD', waits(resource))
    local limit = limit_of(resource)
    return {limit = limit, held = limit and held_of(resource),
            waited_for = limit and call('ZSCORE', waiting, resource) and #first_waiters(resource, 1) > 0}
  end

  -- Parks jobs of a queue that nothing is known of yet, for one resource each, in the order they come.
  local function park_fresh(queue, parks)
    local written, standing, lines, first = {}, {}, grouped(), draw(#parks)
    for i, p in ipairs(parks) do
      local n = whole(first + i - 1)
      written[2 * i - 1] = p.id
      written[2 * i] = write_admission({first = first + i - 1, vain = 0, fence = '0', at = p.resource, held = {}, slots = {}})
      standing[2 * i - 1], standing[2 * i] = n, p.id
      add_two(lines, p.resource, n, p.id)
    end
    put(admission, written)
    many('ZADD', line('throttled', queue), standing)
    for _, resource in ipairs(lines.order) do
      many('ZADD', wait_line(queue, resource), lines.of[resource])
      call('SADD', waits(resource), queue)
      call('ZADD', waiting, 0, resource)
    end
  end

  -- Ends a start whose job waits now for a resource. What it had goes back, unless it was woken in vain too often: then
  -- it keeps that, and takes what of `free` it does not have; but whoever waits for a permit has none behind it by
  -- name, so that no two wait for each other. What is strict is no exception: a job that has it and lacks another asks
  -- for more than it did in its last start.
  local function park(id, start, a, resource, free)
    local b = copy_of(a)
    local by_host = sub(resource, 1, 7) == 'custom:'
    if b.first == 0 then b.first = draw(1) elseif not by_host then b.vain = b.vain + 1 end
    local keeps = b.vain >= vain_wakes and not by_host
    sorted(line('processing', start.queue))
    sorted(line('throttled', start.queue))
    sorted(wait_line(start.queue, resource))
    b.fence, b.at, b.held = start.fence, resource, {}
    local has_now = {unpack(a.held)}
    for _, r in ipairs(unfold(id, start)) do has_now[#has_now + 1] = r end
    table.sort(has_now, by_bytes)
    local freed, is_permit = {}, limit_of(resource)
    for _, r in ipairs(has_now) do
      local kind, since = entry_of(r, id)
      if (kind == 'strict' or keeps) and (not is_permit or by_bytes(r, resource)) then
        b.held[#b.held + 1] = r
        hold(r, {id, (kind == 'strict' and 'strict' or 'kept') .. ' 0 ' .. since})
      else
        freed[#freed + 1] = r
        let_go(r, {id})
      end
    end
    for _, r in ipairs(keeps and free or {}) do
      b.held[#b.held + 1] = r
      hold(r, {id, 'kept 0 ' .. now_text})
    end
    call('ZREM', line('processing', start.queue), id)
    call('HDEL', starts, id)
    call('HSET', admission, id, write_admission(b))
    stand_in_line(id, start.queue, resource, b.first)
    for _, r in ipairs(freed) do pass_on(r) end
  end

  -- What a claimed job has, for the claim's answer: "i n " and n resources as "length:bytes".
  local function told(i, held, slots)
    local all = {}
    for _, resource in ipairs(held) do all[#all + 1] = resource end
    for _, slot in ipairs(slots) do all[#all + 1] = slot.resource end
    if #all == 0 then return '' end
    table.sort(all, by_bytes)
    for n, resource in ipairs(all) do all[n] = text(resource) end
    return i .. ' ' .. #all .. ' ' .. table.concat(all)
  end
  -- What claimed jobs have belongs to their starts from now on: the i-th has fence + i - 1. Slots that lapsed are
  -- forgotten, so that the same answer can be given again.
  local function admit_claimed(ids, had, fence)
    local all = {}
    for i, id in ipairs(ids) do
      local a = had[id]
      if a then
        for _, resource in ipairs(a.held) do
          local kind, since = entry_of(resource, id)
          if kind == 'reserved' then call('ZREM', reserved, reservation(resource, id)) end
          hold(resource, {id, (kind == 'strict' and 'strict ' or 'held ') .. whole(fence + i - 1) .. ' ' .. since})
        end
        local good = {}
        for _, slot in ipairs(a.slots) do
          if slot.until_ > now then good[#good + 1] = slot end
        end
        if #good < #a.slots then
          local b = copy_of(a)
          b.slots = good
          call('HSET', admission, id, write_admission(b))
        end
        all[#all + 1] = told(i, a.held, good)
      end
    end
    return table.concat(all)
  end

  throttling_made = {
    read_admission = read_admission, write_admission = write_admission, copy_of = copy_of, nothing = nothing,
    check_admissions = check_admissions, admissions_of = admissions_of, admission_of = admission_of, has = has,
    limit_of = limit_of, entry_of = entry_of, cell_of = cell_of, reservation = reservation, hold = hold,
    let_go = let_go, count_taken = count_taken, held_of = held_of, taken_in = taken_in, unfold = unfold,
    runs = runs, stands_still = stands_still, stand_in_line = stand_in_line, wake = wake, pass_on = pass_on,
    give_back = give_back, free = free, forget = forget, park = park, told = told,
    admit_claimed = admit_claimed, most_woken = most_woken, room_of = room_of,
    park_fresh = park_fresh,
  }
  return throttling_made
end

-- What a script needs that ends or claims starts, at next to no cost while nobody has to do with a throttler.
local function admissions_of(ids)
  if #ids == 0 or call('HLEN', admission) == 0 then return {} end
  return throttling().admissions_of(ids)
end
local function give_back(ids, had, took, is_final)
  if next(had) or next(took) then throttling().give_back(ids, had, took, is_final) end
end

-- Puts ids aside that cannot be read, with their bytes, out of the given line.
local function put_aside(id, key, queue)
  local record, before, row = call('HGET', jobs, id), call('HGET', past, id), call('HGET', starts, id)
  if row then throttling().check_admissions() end
  if key then call('ZREM', key, id) end
  call('HDEL', jobs, id)
  call('HDEL', past, id)
  call('HDEL', starts, id)
  call('HSET', quarantine, id, text(record or '') .. text(before or '') .. text(row or ''))
  call('ZADD', line('quarantined', queue), now_text, id)
  call('SADD', queues, queue)
  throttling().forget(id, row)
end
