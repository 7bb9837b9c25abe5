-- Unique keys: one job at a time has a key, until its end, its start, or the end of a period. A row of `keys`: "point
-- since until ", see flow_rows.lua, then the job that has it as "length:bytes", and the one that waits to have it next.
-- Invariants: who is not final and has a key in `flow` is its owner or the next, but for a job whose key ended with its
-- start; a key without a period has an owner that is not final. Clearing compares the owner.
local key_rows = {}      -- by key; false: nobody has it
local keys_changed = {}
local function read_key(value)
  local point, since, until_, at = match(value, '^([esp]) (%d+) (%d+) ()')
  local owner, behind = nil, nil
  if point then owner, behind = text_at(value, at) end
  return owner and {point = point, since = tonumber(since), until_ = tonumber(until_), owner = owner,
                    next_one = sub(value, behind)}
end
-- Reads the rows of many at once.
local function read_keys(keys)
  for i, value in ipairs(many('HMGET', held_keys, keys)) do
    if key_rows[keys[i]] == nil then key_rows[keys[i]] = value and read_key(value) or false end
  end
end
local function key_of(key)
  if key_rows[key] == nil then read_keys({key}) end
  return key_rows[key]
end
local function write_key(k)
  return k.point .. ' ' .. int_text(k.since) .. ' ' .. int_text(k.until_) .. ' ' .. text(k.owner) .. k.next_one
end
local function change_key(key, k) key_rows[key], keys_changed[key] = k, true end

local function take_key(key, id, point, period)
  local until_ = point == 'p' and math.min(now + period, longest) or 0
  change_key(key, {point = point, since = now, until_ = until_, owner = id, next_one = ''})
  if point == 'p' then owes_at('key - ' .. key, until_) else owes_no_more('key - ' .. key) end
end
-- A job lets go: it has ended, or begun where that is the point.
local function free_key(id, f)
  local k = f.key and key_of(f.key)
  if not k then return end
  if k.next_one == id then
    k.next_one = ''
    change_key(f.key, k)
  elseif k.owner == id and k.point ~= 'p' then
    k.owner, k.next_one = k.next_one, ''
    change_key(f.key, k.owner ~= '' and k)
  end
end
-- A start came to nothing: the key is its own again, unless another has it by now.
local function take_key_again(id, f)
  if f.key and f.point == 's' and not key_of(f.key) then take_key(f.key, id, 's', 0) end
end
-- A person has a final job run: nothing, or who has its key. A period does not begin again.
local function key_taken_by(id, f)
  local k = f.key and key_of(f.key)
  if k and k.owner ~= id and not (k.point == 'p' and now >= k.until_) then return k.owner end
  if f.key and f.point ~= 'p' and not (k and k.owner == id) then take_key(f.key, id, f.point, 0) end
end
local function sweep_key(key)
  local k = key_of(key)
  owes_no_more('key - ' .. key)
  if not k or k.point ~= 'p' then return end
  if now >= k.until_ then change_key(key, false) else owes_at('key - ' .. key, k.until_) end
end

-- What a new job with a key does: stored (it has it, or is the next), and whom it replaced; duplicate, forgotten (the
-- same of one that is not kept any more), extended or refused, and whose key it is; own_parent, and the open parent that
-- it would replace. `o`: its options, as new_jobs has them. `named`: jobs of this step, which do not take the place of
-- each other, also when it is asked again.
local function ask_for_key(id, key, o, delay, parents, named, ended)
  local k = key_of(key)
  local owner = k and k.owner
  local is_over = not k or k.point == 'p' and now >= k.until_
  if is_over then
    take_key(key, id, o.point, o.period)
    return 'stored', ''
  end
  if o.rule == 'refuse' then return 'refused', owner end
  if named[owner] then return 'duplicate', owner end
  local may_replace = o.rule == 'replace' and not named[k.next_one]
  for _, parent in ipairs(may_replace and parents or {}) do
    local is_in_place = parent.state == '0' and (parent.id == owner or parent.id == k.next_one)
    if is_in_place and waiting_at(owner) then return 'own_parent', parent.id end
  end
  if may_replace and end_waiting(owner, 'd', 'replaced by ' .. id, 'replaced', ended) then
    if k.next_one ~= '' then end_waiting(k.next_one, 'd', 'replaced by ' .. id, 'replaced', ended) end
    take_key(key, id, o.point, o.period)
    return 'stored', owner
  end
  if o.rule == 'coalesce' and call('HEXISTS', runs, owner) == 1 and k.point == 'e' then
    local before = k.next_one
    if before ~= '' and named[before] then return 'duplicate', before end
    if before ~= '' then end_waiting(before, 'd', 'replaced by ' .. id, 'replaced', ended) end
    k.next_one = id
    change_key(key, k)
    return 'stored', before
  end
  if o.rule == 'extend' then
    local record = call('HGET', jobs, owner)
    local queue = record and queue_of(record)
    local scheduled = queue and call('ZSCORE', line('scheduled', queue), owner)
    if scheduled and not flow_moved[owner] then
      local at = now + delay
      if o.at_most > 0 then at = math.min(at, k.since + o.at_most) end
      at = math.max(at, now)
      local f = flow_of(owner)
      local finish_by = f and f.clock and f.clock.finish_by or 0
      if finish_by > 0 and at >= finish_by then return 'refused', owner end  -- it could never run
      add_two(flow_plan.staying, sorted(line('scheduled', queue)), int_text(at), owner)
      sorted(due)
      flow_plan.refresh[queue] = true
      has_work('@')
      if f then start_clock(owner, f, at) end
      return 'extended', owner
    end
  end
  local is_kept = call('HEXISTS', jobs, owner) == 1 or call('HEXISTS', quarantine, owner) == 1
  return is_kept and 'duplicate' or 'forgotten', owner
end
