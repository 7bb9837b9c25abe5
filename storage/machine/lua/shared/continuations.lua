-- Jobs that run after others: a child names parents, and is awaiting until enough of them have ended as it wants. Every
-- way in which a job ends for good comes here (plan_ends), in the step that ends it.
--
-- A row of `flow`: "children", 1 when jobs may wait for this one, else 0; and of a child that is not final, or was
-- deleted as unmet, behind it " need delay unmet on unless n ", then for each parent a digit and its id as
-- "length:bytes". The digit: 0 its end is open, 1 it ended as the child wants, 2 it did not; 3 and 4 as 1 and 2, of one
-- that was not there. on: s, f, d for succeeded, failed and deleted; unless: d, r, k for delete, run and keep.
-- `after(PARENT)` has the parent's children: 0 while its end is open to them, then 1, and 2 for those that were deleted
-- as unmet. They leave it when they are final in another way.
-- Invariants: `flow_mark` is there when `flow` is not empty. A parent stays stored while a child of it that is not final
-- may ask for its result. Who is awaiting has a row. A step resolves at most about max_resolved ends of parents; what it
-- still owes stands in `agenda`, and promote goes on with it: "edges HOW ID" when the job ended so, "again - ID" when it
-- was requeued. Its next requeue takes back an end that is owed: the children that it did not come to await the next.
local max_resolved = 250

local function read_flow(value)
  local f = {has_children = sub(value, 1, 1) == '1'}
  local need, delay, unmet, on, unless, n, at = match(value, '^%d (%d+) (%d+) (%d) (%l+) (%l) (%d+) ()')
  if need then
    f.need, f.delay, f.is_unmet, f.on, f.unless, f.parents =
      tonumber(need), math.min(tonumber(delay), longest), unmet == '1', on, unless, {}
    for i = 1, tonumber(n) do
      local id, behind = text_at(value, at + 1)
      if not id then return nil end
      f.parents[i] = {id = id, state = sub(value, at, at)}
      at = behind
    end
  end
  return f
end
local function write_flow(f)
  local row = f.has_children and '1' or '0'
  if not f.parents then return row end
  local parts = {row .. ' ' .. f.need .. ' ' .. int_text(f.delay) .. ' ' .. (f.is_unmet and 1 or 0) .. ' ' .. f.on ..
                 ' ' .. f.unless .. ' ' .. #f.parents .. ' '}
  for _, parent in ipairs(f.parents) do parts[#parts + 1] = parent.state .. text(parent.id) end
  return table.concat(parts)
end

-- What this step changes; it is written by carry_out_ends.
local flow_rows = {}     -- by id, as read or changed; false: none
local flow_changed = {}  -- by id
local function flow_of(id)
  if flow_rows[id] == nil then
    local value = call('HGET', flow, id)
    flow_rows[id] = value and read_flow(value) or false
  end
  return flow_rows[id]
end
-- Reads the rows of many at once.
local function read_flows(ids)
  for i, value in ipairs(many('HMGET', flow, ids)) do
    if flow_rows[ids[i]] == nil then flow_rows[ids[i]] = value and read_flow(value) or false end
  end
end
local function change_flow(id, f)
  flow_rows[id], flow_changed[id] = f, true
end
local flow_lines = {leaving = grouped(), entering = grouped(), edges = grouped(), dropped = grouped()}
local flow_histories = {}
local flow_due = {}    -- by queue: the earliest instant
local flow_moved = {}  -- by id: it has left its line in this step
local flow_owed = {}   -- what stands in `agenda` -> whether it is to stay there
local resolved = {n = 0}

-- Whether enough have ended as it wants, and whether too many have not.
local function verdict_on(f)
  local met, unmet = 0, 0
  for _, parent in ipairs(f.parents) do
    local state = parent.state
    if state == '1' or state == '3' then met = met + 1 elseif state ~= '0' then unmet = unmet + 1 end
  end
  return met >= f.need, unmet > #f.parents - f.need
end

-- Not of one that was never there, or has been forgotten: what is stored under its id by now is another job.
local function is_there(parent)
  local its = parent.state < '3' and flow_of(parent.id)
  return its and its.has_children
end
local function after_parent(id) return sorted(after(id)) end
local function enter_after_release(id, queue, f)
  if f.delay > 0 then
    local at = now + f.delay
    add_two(flow_lines.entering, sorted(line('scheduled', queue)), int_text(at), id)
    sorted(due)
    flow_due[queue] = math.min(flow_due[queue] or at, at)
    has_work('@')
  else
    add_two(flow_lines.entering, sorted(line('ready', queue)), int_text(draw(1)), id)
    has_work(queue)
  end
end
-- Its place among the children of each of its parents.
local function put_edges(id, f)
  for _, parent in ipairs(f.parents) do
    if is_there(parent) then
      local score = parent.state == '0' and '0' or f.is_unmet and '2' or '1'
      add_two(flow_lines.edges, after_parent(parent.id), score, id)
    end
  end
  resolved.n = resolved.n + #f.parents - 1
end
local words_of_ends = {s = 'succeeded', f = 'failed', d = 'deleted'}
-- It ends as deleted since a parent of it did not end as it wants.
local function enter_as_unmet(id, queue, f, parent, letter)
  local p = read_history(call('HGET', history, id)) or read_history(nil)
  p.reason = 'its parent ' .. parent .. (words_of_ends[letter] and ' ended as ' .. words_of_ends[letter] or ' is not there')
  remember(p, '0', 0, now_text, '', text('unmet') .. text(p.reason) .. '0')
  flow_histories[#flow_histories + 1], flow_histories[#flow_histories + 2] = id, write_history(p)
  add_two(flow_lines.entering, sorted(line('deleted', queue)), now_text, id)
  count_jobs(queue, 'deleted', 1)
  f.is_unmet = true
  put_edges(id, f)
  change_flow(id, f)
end
-- Where a child is once its parents are known: it is released, ends, or waits on. Answers whether it has ended.
local function place_child(id, queue, f, parent, letter)
  local is_met, is_unmet = verdict_on(f)
  if not is_met and (not is_unmet or f.unless == 'k') then return false, 'awaiting' end
  if is_met or f.unless == 'r' then
    enter_after_release(id, queue, f)
    return false, 'released'
  end
  enter_as_unmet(id, queue, f, parent, letter)
  return true, 'unmet'
end

-- How a job has ended: s, f or d; empty when it has not; missing when there is none. One that is in quarantine has
-- failed. `besides`: jobs that this step stores, which have not ended.
local function end_of(id, besides)
  local record = besides[id] == nil and call('HGET', jobs, id)
  if besides[id] then return '' end
  if not record then return call('HEXISTS', quarantine, id) == 1 and 'f' or 'missing' end
  local queue = queue_of(record)
  for _, kind in ipairs(queue and final_kinds or {}) do
    if call('ZSCORE', line(kind, queue), id) then return sub(kind, 1, 1) end
  end
  return ''
end
-- A new job with parents: `unmet` is one that did not end as it wants.
local function place_new(id, queue, f, unmet, letter)
  f.has_children = (flow_of(id) or f).has_children  -- from an earlier life, that ended in quarantine
  change_flow(id, f)
  for _, parent in ipairs(f.parents) do
    if parent.state < '3' then
      local its = flow_of(parent.id) or {}
      its.has_children = true
      change_flow(parent.id, its)
    end
  end
  put_edges(id, f)
  local _, where = place_child(id, queue, f, unmet, letter)
  if where == 'awaiting' then add_two(flow_lines.entering, sorted(line('awaiting', queue)), int_text(draw(1)), id) end
end

-- A parent has ended so, for this child.
local function resolve(parent, id, letter, ended)
  local f = flow_of(id)
  local is_waiting = false
  for _, one in ipairs(f and f.parents or {}) do
    if one.id == parent and one.state == '0' then
      one.state, is_waiting = string.find(f.on, letter, 1, true) and '1' or '2', true
    end
  end
  add_two(flow_lines.edges, after_parent(parent), f and f.is_unmet and '2' or '1', id)
  if not is_waiting then return end
  change_flow(id, f)
  local record = call('HGET', jobs, id)
  local queue = record and queue_of(record)
  if not queue or flow_moved[id] or not call('ZSCORE', line('awaiting', queue), id) then return end
  local has_ended, where = place_child(id, queue, f, parent, letter)
  if where == 'awaiting' then return end
  flow_moved[id] = true
  add_one(flow_lines.leaving, sorted(line('awaiting', queue)), id)
  if has_ended then ended[#ended + 1] = {id, 'd'} end
end

local is_agenda_empty = nil
local function look_at_agenda()
  call('HLEN', flow)
  if is_agenda_empty == nil then is_agenda_empty = call('ZCARD', agenda) == 0 end
end
local function owes(member) flow_owed[member] = true end
local function owes_no_more(member)
  if not is_agenda_empty then flow_owed[member] = false end
end
local function left_to_resolve() return math.max(0, max_resolved - resolved.n) end

-- Jobs that end in this step: each its id and how, s, f or d. Before keep_totals, and before the first write.
local function plan_ends(ended)
  look_at_agenda()
  local ids, next_one = {}, 1
  for i, one in ipairs(ended) do ids[i] = one[1] end
  read_flows(ids)
  while next_one <= #ended do
    local id, letter = ended[next_one][1], ended[next_one][2]
    next_one = next_one + 1
    local f, member = flow_of(id), 'edges ' .. letter .. ' ' .. id
    if f and f.parents and not (f.is_unmet and letter == 'd') then
      for _, parent in ipairs(f.parents) do
        if is_there(parent) then add_one(flow_lines.dropped, after_parent(parent.id), id) end
      end
      resolved.n = resolved.n + #f.parents - 1
      f.parents = nil
      change_flow(id, f)
    end
    if f then owes_no_more(member) end
    if f and f.has_children then
      local left = left_to_resolve()
      local children = call('ZRANGE', after_parent(id), 0, 0, 'BYSCORE', 'LIMIT', 0, left + 1)
      for i, child in ipairs(children) do
        if i > left or resolved.n >= max_resolved then
          owes(member)
          break
        end
        resolved.n = resolved.n + 1
        resolve(id, child, letter, ended)
      end
    end
  end
end

-- Of a final job that is requeued: what its end still owes is for its next end.
local function take_back_end(id)
  look_at_agenda()
  for _, letter in ipairs({'s', 'f', 'd'}) do owes_no_more('edges ' .. letter .. ' ' .. id) end
end
-- One of its children, that was deleted as unmet.
local function await_again(id, child)
  local f = flow_of(child)
  local record = f and f.is_unmet and f.parents and call('HGET', jobs, child)
  local queue = record and queue_of(record)
  if not queue then return add_two(flow_lines.edges, after_parent(id), '1', child) end
  for _, one in ipairs(f.parents) do
    if one.id == id then one.state = '0' end
  end
  local _, is_unmet = verdict_on(f)
  if not is_unmet and call('ZSCORE', line('deleted', queue), child) then
    f.is_unmet = false
    take_back_end(child)
    add_one(flow_lines.leaving, sorted(line('deleted', queue)), child)
    add_two(flow_lines.entering, sorted(line('awaiting', queue)), int_text(draw(1)), child)
    local p = read_history(call('HGET', history, child)) or read_history(nil)
    p.reason = ''
    flow_histories[#flow_histories + 1], flow_histories[#flow_histories + 2] = child, write_history(p)
  end
  put_edges(child, f)
  change_flow(child, f)
end
-- A final job is to run again: those of its children that were deleted as unmet await it again. A step that does this
-- resolves nothing.
local function plan_again(id)
  look_at_agenda()
  local f, member = flow_of(id), 'again - ' .. id
  owes_no_more(member)
  if f and f.has_children then
    local left = left_to_resolve()
    for i, child in ipairs(call('ZRANGE', after_parent(id), 2, 2, 'BYSCORE', 'LIMIT', 0, left + 1)) do
      if i > left or resolved.n >= max_resolved then
        owes(member)
        break
      end
      resolved.n = resolved.n + 1
      await_again(id, child)
    end
  end
end
-- The same of what an earlier step owed. The job may have ended by now: for these, too.
local function go_on_again(id)
  plan_again(id)
  local letter = end_of(id, {})
  if #letter == 1 then owes('edges ' .. letter .. ' ' .. id) end
end
-- A person has it run.
local function plan_requeue(id)
  take_back_end(id)
  local f = flow_of(id)
  if f and f.parents and f.is_unmet then
    f.is_unmet = false
    put_edges(id, f)
    change_flow(id, f)
  end
  plan_again(id)
end

-- Writes all that was planned.
local function carry_out_ends()
  each_list(flow_lines.leaving, 'ZREM')
  many('HSET', history, flow_histories)
  each_list(flow_lines.entering, 'ZADD')
  for queue, instant in pairs(flow_due) do call('ZADD', due, 'LT', int_text(instant), queue) end
  each_list(flow_lines.edges, 'ZADD')
  each_list(flow_lines.dropped, 'ZREM')
  for _, key in ipairs(flow_lines.dropped.order) do
    local parent = sub(key, #after('') + 1)
    local f = flow_of(parent)
    if f and f.has_children and call('EXISTS', key) == 0 then
      f.has_children = false
      change_flow(parent, f)
    end
  end
  local rows, gone = {}, {}
  for id in pairs(flow_changed) do
    local f = flow_rows[id]
    if f.has_children or f.parents then rows[#rows + 1], rows[#rows + 2] = id, write_flow(f)
    else gone[#gone + 1] = id end
  end
  if #rows > 0 then call('SET', flow_mark, '1') end
  many('HSET', flow, rows)
  many('HDEL', flow, gone)
  for member, is_owed in pairs(flow_owed) do
    if is_owed then
      call('ZADD', agenda, 0, member)  -- due, whatever becomes of the clock
      has_work('@')
    else
      call('ZREM', agenda, member)
    end
  end
  if call('HLEN', flow) == 0 and call('EXISTS', agenda) == 0 then call('DEL', flow_mark) end
end

-- Of a final job: no child that is not final waits for it or may ask for its result.
local function may_be_forgotten(id)
  local f = flow_of(id)
  return not f or not f.has_children or call('ZCOUNT', after(id), '-inf', 1) == 0
end
local function forget_flow(ids)
  local gone, is_gone, named = {}, {}, {}
  for _, id in ipairs(ids) do
    local f = flow_of(id)
    if f then
      gone[#gone + 1], is_gone[id] = id, true
      for _, parent in ipairs(f.parents or {}) do
        if is_there(parent) then
          after_parent(parent.id)
          named[#named + 1] = {parent.id, id}
        end
      end
    end
  end
  for _, id in ipairs(gone) do call('DEL', after(id)) end
  for _, one in ipairs(named) do
    local parent, id = one[1], one[2]
    local its = flow_of(parent)
    call('ZREM', after(parent), id)
    if not is_gone[parent] and its.has_children and call('EXISTS', after(parent)) == 0 then
      its.has_children = false
      if its.parents then call('HSET', flow, parent, write_flow(its)) else gone[#gone + 1] = parent end
    end
  end
  many('HDEL', flow, gone)
  if #gone > 0 and call('HLEN', flow) == 0 and call('EXISTS', agenda) == 0 then call('DEL', flow_mark) end
end
