-- Unique keys: one job at a time has a key, until its end, its start, or the end of a period. A row of `keys`: "point
-- since until ", see flow.lua, then the job that has it as "length:bytes", and the one that waits to have it next.
-- Invariants: who is not final and has a key in `flow` is its owner or the next, but for a job whose key ended with its
-- start; a key without a period has an owner that is not final. Clearing compares the owner.
local int_text = base.int_text
local end_waiting = early_ends.end_waiting
function fresh.key_rows() return {} end      -- by key; false: nobody has it
function fresh.keys_changed() return {} end
local function read_key(value)
  local point, since, until_, at = match(value, '^([esp]) (%d+) (%d+) ()')
  local owner, behind = nil, nil
  if point then owner, behind = values.text_at(value, at) end
  return owner and {point = point, since = tonumber(since), until_ = tonumber(until_), owner = owner,
                    next_one = sub(value, behind)}
end
-- Reads the rows of many at once.
function unique_keys.read_keys(step, keys)
  for i, value in ipairs(lists.many('HMGET', step.keys.held_keys, keys)) do
    if step.key_rows[keys[i]] == nil then step.key_rows[keys[i]] = value and read_key(value) or false end
  end
end
function unique_keys.key_of(step, key)
  if step.key_rows[key] == nil then unique_keys.read_keys(step, {key}) end
  return step.key_rows[key]
end
function unique_keys.write_key(k)
  return k.point .. ' ' .. int_text(k.since) .. ' ' .. int_text(k.until_) .. ' ' .. values.text(k.owner) .. k.next_one
end
function unique_keys.change_key(step, key, k) step.key_rows[key], step.keys_changed[key] = k, true end

local function take_key(step, key, id, point, period)
  local until_ = point == 'p' and math.min(step.now + period, base.longest) or 0
  unique_keys.change_key(step, key, {point = point, since = step.now, until_ = until_, owner = id, next_one = ''})
  if point == 'p' then flow.owes_at(step, 'key - ' .. key, until_) else flow.owes_no_more(step, 'key - ' .. key) end
end
-- A job lets go: it has ended, or begun where that is the point.
function unique_keys.free_key(step, id, f)
  local k = f.key and unique_keys.key_of(step, f.key)
  if not k then return end
  if k.next_one == id then
    k.next_one = ''
    unique_keys.change_key(step, f.key, k)
  elseif k.owner == id and k.point ~= 'p' then
    k.owner, k.next_one = k.next_one, ''
    unique_keys.change_key(step, f.key, k.owner ~= '' and k)
  end
end
-- A start came to nothing: the key is its own again, unless another has it by now.
function unique_keys.take_key_again(step, id, f)
  if f.key and f.point == 's' and not unique_keys.key_of(step, f.key) then take_key(step, f.key, id, 's', 0) end
end
-- A person has a final job run: nothing, or who has its key. A period does not begin again.
function unique_keys.key_taken_by(step, id, f)
  local k = f.key and unique_keys.key_of(step, f.key)
  if k and k.owner ~= id and not (k.point == 'p' and step.now >= k.until_) then return k.owner end
  if f.key and f.point ~= 'p' and not (k and k.owner == id) then take_key(step, f.key, id, f.point, 0) end
end
function unique_keys.sweep_key(step, key)
  local k = unique_keys.key_of(step, key)
  flow.owes_no_more(step, 'key - ' .. key)
  if not k or k.point ~= 'p' then return end
  if step.now >= k.until_ then
    unique_keys.change_key(step, key, false)
  else
    flow.owes_at(step, 'key - ' .. key, k.until_)
  end
end

-- What a new job with a key does: stored (it has it, or is the next), and whom it replaced; duplicate, forgotten (the
-- same of one that is not kept any more), extended or refused, and whose key it is; own_parent, and the open parent
-- that it would replace. `o`: its options, as new_jobs has them. `named`: jobs of this step, which do not take the
-- place of each other, also when it is asked again.
function unique_keys.ask_for_key(step, id, key, o, delay, parents, named)
  local k = unique_keys.key_of(step, key)
  local owner = k and k.owner
  local is_over = not k or k.point == 'p' and step.now >= k.until_
  if is_over then
    take_key(step, key, id, o.point, o.period)
    return 'stored', ''
  end
  if o.rule == 'refuse' then return 'refused', owner end
  if named[owner] then return 'duplicate', owner end
  local may_replace = o.rule == 'replace' and not named[k.next_one]
  for _, parent in ipairs(may_replace and parents or {}) do
    local is_in_place = parent.state == '0' and (parent.id == owner or parent.id == k.next_one)
    if is_in_place and early_ends.waiting_at(step, owner) then return 'own_parent', parent.id end
  end
  if may_replace and end_waiting(step, owner, 'd', 'replaced by ' .. id, 'replaced') then
    if k.next_one ~= '' then end_waiting(step, k.next_one, 'd', 'replaced by ' .. id, 'replaced') end
    take_key(step, key, id, o.point, o.period)
    return 'stored', owner
  end
  if o.rule == 'coalesce' and call('HEXISTS', step.keys.runs, owner) == 1 and k.point == 'e' then
    local before = k.next_one
    if before ~= '' and named[before] then return 'duplicate', before end
    if before ~= '' then end_waiting(step, before, 'd', 'replaced by ' .. id, 'replaced') end
    k.next_one = id
    unique_keys.change_key(step, key, k)
    return 'stored', before
  end
  if o.rule == 'extend' then
    local record = call('HGET', step.keys.jobs, owner)
    local queue = record and values.queue_of(record)
    local scheduled = queue and call('ZSCORE', places.line(step, 'scheduled', queue), owner)
    if scheduled and not step.changes.moved[owner] then
      local at = step.now + delay
      if o.at_most > 0 then at = math.min(at, k.since + o.at_most) end
      at = math.max(at, step.now)
      local f = flow.flow_of(step, owner)
      local finish_by = f and f.clock and f.clock.finish_by or 0
      if finish_by > 0 and at >= finish_by then return 'refused', owner end  -- it could never run
      lists.add_two(step.changes.staying, base.sorted(step, places.line(step, 'scheduled', queue)), int_text(at),
                    owner)
      base.sorted(step, step.keys.due)
      step.changes.refresh[queue] = true
      hints.has_work(step, '@')
      if f then clocks.start_clock(step, owner, f, at) end
      return 'extended', owner
    end
  end
  local is_kept = call('HEXISTS', step.keys.jobs, owner) == 1 or
    call('HEXISTS', step.keys.quarantine, owner) == 1
  return is_kept and 'duplicate' or 'forgotten', owner
end
