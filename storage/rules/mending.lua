-- The rules of the audit whose findings can be mended by what else is stored: what jobs have to do with others and with
-- time, and when queues are looked at. `audit` tells of them, `repair` mends them, each over the slice that it is given
-- as ARGV[3] to [6], see audit.lua.
local after, members = keys.after, keys.members
local line = places.line
local flow_of = flow.flow_of
local key_of = unique_keys.key_of
local group_of = groups.group_of
local end_of = continuations.end_of

-- What is wrong, as sentences; and by their places, of those that can be mended, the mend of repair.lua and what it is
-- given.
function fresh.findings() return {} end
function fresh.mends_for() return {} end
function mending.wrong(step, ...) step.findings[#step.findings + 1] = table.concat({...}) end
local function mendable(step, mend, ...)
  mending.wrong(step, ...)
  step.mends_for[#step.findings] = mend
end
-- Also of one that does not exist.
function mending.is_gone_or_final(step, id)
  local record = call('HGET', step.keys.jobs, id)
  local at = record and places.place_at_home(step, id, record)
  return not record or at and places.is_final(at.kind)
end
function mending.is_instant(score) return score >= 0 and score < 2 ^ 53 and score % 1 == 0 end

-- Whether a step owes this still.
local function is_owed(step, what, id)
  for _, letter in ipairs(flow.ways_to_end) do
    if call('ZSCORE', step.keys.agenda, what .. ' ' .. letter .. ' ' .. id) then return true end
  end
  return false
end
function mending.stands_in_agenda(step, what, id) return call('ZSCORE', step.keys.agenda, what .. ' - ' .. id) end
local function has_mark(step, why)
  if not step.has_flow then mendable(step, {'mark'}, step.keys.flow_mark, ' is not there, and ', why) end
end

-- What a row of `flow` says of a job, or of a group.
local check = {}

-- How it counts in the group that it is in.
function check.member(step, id, f, how)
  local score = call('ZSCORE', members(step, f.group), id)
  local function amiss(...) mendable(step, {'member', id}, 'job ', id, ...) end
  if not group_of(step, f.group) then return amiss(' is in group ', f.group, ', which does not exist') end
  local is_open = f.counted == '-'
  local is_as_counted = is_open and (score == '0' or score == '4') or not is_open and
    score == groups.member_scores[f.counted]
  if not score or not is_as_counted then
    amiss(' is not among the members of ', f.group, ' as it should be')
  end
  if is_open and how ~= '' and not is_owed(step, 'edges', id) then amiss(' has ended and counts as open in ', f.group)
  elseif not is_open and how == '' then amiss(' has not ended and does not count as open in ', f.group) end
end
-- That its key is its own until its end, or until its first claim where the start is the point (behind a start that
-- came to nothing it may have none); and nobody's behind its end.
function check.key(step, id, f, how)
  local k = key_of(step, f.key)
  local is_its = k and (k.owner == id or k.next_one == id)
  local was_claimed = f.point == 's' and
                      call('HEXISTS', step.keys.runs, id) + call('HEXISTS', step.keys.history,
                                                                             id) + call('HEXISTS',
                                                                                              step.keys.admission,
                                                                                                id) > 0
  if how == '' and (f.point == 'e' and not is_its or f.point == 's' and not k and not was_claimed) then
    mendable(step, {'own_key', id}, 'job ', id, ' does not have its key ', f.key)
  elseif f.point ~= 'p' and how ~= '' and is_its and not is_owed(step, 'edges', id) then
    mendable(step, {'holder', f.key, id}, 'job ', id, ' has ended and has its key ', f.key)
  end
end
-- That somebody looks at its times.
function check.clock(step, id, f, how)
  local p = values.read_history(call('HGET', step.keys.history, id))
  if how ~= '' or not p or call('HEXISTS', step.keys.runs, id) == 1 then return end
  if clocks.next_over(f.clock, clocks.has_begun(p)) and not mending.stands_in_agenda(step, 'expire', id) then
    mendable(step, {'clock', id}, 'job ', id, ' has a time to be over, and nobody looks at it')
  end
end
-- That each parent has it among its children, or is known to be there no more.
function check.parent(step, id, f, parent)
  local score = tonumber(call('ZSCORE', after(step, parent.id), id) or '-2')
  local its_end = end_of(step, parent.id, {})
  -- Of an unmet child's the parent may be forgotten, and another job have its id.
  local is_forgotten = parent.state >= '3' or its_end == 'missing' or f.is_unmet and score == -2
  if not is_forgotten and score ~= tonumber(continuations.edge_score(f, parent)) then
    mendable(step, {'edge', id, parent.id}, 'job ', id, ' is not among the children of ', parent.id, ' as it should be')
  end
  if parent.state ~= '0' then return end
  local g = groups.group_in(parent.id) and group_of(step, groups.group_in(parent.id))
  if g and f.on == 'e' and g.f > 0 then its_end = 'e' end
  local is_told_later = g and its_end ~= 'e' and g.ended == 0  -- by the rules of groups
  if its_end == 'missing' then
    mendable(step, {'lost_parent', id, parent.id}, 'job ', id, ' waits for ', parent.id, ', which does not exist')
  elseif its_end ~= '' and not is_told_later and not is_owed(step, 'edges', parent.id) then
    local member = 'edges ' .. its_end .. ' ' .. parent.id
    mendable(step, {'owe', member}, 'job ', id, ' waits for ', parent.id, ', which has ended')
  end
end

local agenda_words = {edges = true, again = true, expire = true, key = true, seal = true, cancel = true, forget = true}

-- What is looked at: given each of it, with what a hash has under it, or its score.
local look = {}
mending.look = look

function look.flow(step, id, value)
  local f = flow.read_flow(value)
  if not f or flow.write_flow(f) ~= value then
    return mendable(step, {'row', id}, 'what job ', id, ' has to do with others cannot be read')
  end
  has_mark(step, 'jobs wait for others')
  local how = end_of(step, id, {})
  if how == 'missing' then
    return mendable(step, {'lost', id}, 'there is something of others for job ', id, ', which does not exist')
  end
  if f.has_children and call('EXISTS', after(step, id)) == 0 then
    mendable(step, {'no_children', id}, 'job ', id, ' is said to have children and has none')
  end
  if f.group then check.member(step, id, f, how) end
  if f.key then check.key(step, id, f, how) end
  if f.clock then check.clock(step, id, f, how) end
  for _, parent in ipairs(f.parents or {}) do check.parent(step, id, f, parent) end
end
function look.after(step, child)
  local parent = sub(step.args[4], #after(step, '') + 1)
  local f, its, names = flow_of(step, child), flow_of(step, parent), false
  for _, one in ipairs(f and f.parents or {}) do names = names or one.id == parent end
  if not names then
    mendable(step, {'child', parent, child}, 'job ', child, ' is among the children of ', parent,
             ' and does not name it')
  end
  if not (its and its.has_children) then
    mendable(step, {'children', parent}, 'job ', parent, ' has children and is not said to have any')
  end
end

function look.agenda(step, member, at)
  local what, id = match(member, '^(%l+) [sfde-] (.+)$')
  local k = what == 'key' and key_of(step, id)
  local function idle(...) mendable(step, {'owe_no_more', member}, ...) end
  if not (what and agenda_words[what]) then idle('what is still to be done of ', member, ' cannot be read')
  elseif what == 'key' and not (k and k.point == 'p') then
    idle('the end of a period is to be looked at of key ', id, ', which has none')
  elseif what ~= 'key' and end_of(step, id, {}) == 'missing' then
    idle('something is still to be done of job ', id, ', which does not exist')
  elseif not mending.is_instant(tonumber(at)) then
    local whom = what == 'key' and 'key ' or 'job '
    mendable(step, {'instant', member}, 'what is to be done of ', whom, id, ' is to be done at no instant')
  end
  has_mark(step, 'something is still to be done')
end

function look.held_keys(step, key_text, value)
  local k = key_of(step, key_text)
  if not k or unique_keys.write_key(k) ~= value then
    return mendable(step, {'key', key_text}, 'who has key ', key_text, ' cannot be read')
  end
  if k.point == 'p' then
    if not mending.stands_in_agenda(step, 'key', key_text) then
      mendable(step, {'period', key_text}, 'key ', key_text, ' is held for a period, and nobody looks at its end')
    end
    return
  end
  for _, id in ipairs(k.next_one ~= '' and {k.owner, k.next_one} or {k.owner}) do
    local f, how = flow_of(step, id), end_of(step, id, {})
    if not f or f.key ~= key_text then
      mendable(step, {'holder', key_text, id}, 'job ', id, ' has key ', key_text, ' and does not know of it')
    elseif how ~= '' and not is_owed(step, 'edges', id) then
      mendable(step, {'holder', key_text, id}, 'job ', id, ' has key ', key_text, ', and has ended')
    end
  end
end

function look.groups(step, name, value)
  local g = group_of(step, name)
  local function amiss(...) mendable(step, {'group', name}, 'group ', name, ...) end
  if not g or groups.write_group(g) ~= value then return amiss(' cannot be read') end
  local function count(score) return call('ZCOUNT', members(step, name), score, score) end
  local open = count(0) + count(4)
  if g.open ~= open then amiss(' has ', open, ' open members and counts ', g.open) end
  if g.s < count(1) or g.f < count(2) or g.d < count(3) then amiss(' has more members than it counts') end
  if groups.is_finished(g) ~= (g.ended > 0) then amiss(' does not say rightly whether it has ended') end
  local node = groups.node_of(name)
  if g.state == 'o' and not mending.stands_in_agenda(step, 'seal',
                                                     node) then amiss(' is not sealed, and nobody looks at that')
  elseif g.state == 'c' and count(0) > 0 and not mending.stands_in_agenda(step, 'cancel', node) then
    amiss(' was cancelled, and nobody ends its members')
  elseif groups.is_finished(g) and not mending.stands_in_agenda(step, 'forget', node) then
    amiss(' has ended, and nobody forgets it')
  end
end
function look.members(step, id)
  local name = sub(step.args[4], #members(step, '') + 1)
  local f = flow_of(step, id)
  if not (f and f.group == name) then
    mendable(step, {'membership', name, id}, 'job ', id, ' is among the members of ', name, ' and does not know of it')
  end
end

-- Of a line of those that await, whoever is in it and in no other of its queue.
function look.awaiting(step, id)
  local record = call('HGET', step.keys.jobs, id)
  local queue = record and values.queue_of(record)
  if not queue or line(step, 'awaiting', queue) ~= step.args[4] then return end  -- told of with the lines
  for _, kind in ipairs(places.line_kinds) do
    if kind ~= 'awaiting' and call('ZSCORE', line(step, kind, queue), id) then return end
  end
  local f = flow_of(step, id)
  if not (f and f.parents and not f.is_unmet) then
    return mendable(step, {'place', id}, 'job ', id, ' is awaiting and names no parents')
  end
  local is_met, is_unmet = continuations.verdict_on(f)
  if f.unless == 'u' then
    mendable(step, {'place', id}, 'job ', id, ' is awaiting, and not all of its parents are known')
  elseif is_met or is_unmet and f.unless ~= 'k' then
    mendable(step, {'place', id}, 'job ', id, ' is awaiting, and its parents have ended')
  end
end

function look.queues(step, queue)
  local first, told = call('ZRANGE', line(step, 'scheduled', queue), 0, 0, 'WITHSCORES')[2],
    call('ZSCORE', step.keys.due, queue)
  if first and not (told and tonumber(told) == tonumber(first)) then
    mendable(step, {'due', queue}, 'queue ', queue, ' has due jobs that nobody looks at')
  elseif told and not first then
    mendable(step, {'due', queue}, 'queue ', queue, ' is listed as due and has nothing scheduled')
  end
  first, told = call('ZRANGE', line(step, 'processing', queue), 0, 0, 'WITHSCORES')[2],
    call('ZSCORE', step.keys.ending, queue)
  if first and (not told or tonumber(told) > tonumber(first)) then
    mendable(step, {'leases', queue, first}, 'queue ', queue, ' has leases that nobody looks at')
  end
end

-- Rules for one thing, which is named in place of a key: what the audit of a larger place has found.
local look_at_one = {}

-- Redis may refuse a command in the middle of a step: the rest of it is missing.
function look_at_one.unplaced(step, id)
  local record = call('HGET', step.keys.jobs, id)
  if record and values.queue_of(record) and not places.place_at_home(step, id, record) then
    mendable(step, {'unplaced', id}, 'job ', id, ' is in no line')
  end
end
-- `entry`: a resource as "length:bytes", and a job that has ended, or does not exist.
function look_at_one.permit(step, entry)
  local resource, at = values.text_at(entry, 1)
  local id = sub(entry, at)
  local value = call('HGET', keys.holders(step, resource), id)
  if not value or not mending.is_gone_or_final(step, id) then return end
  local words = call('HEXISTS', step.keys.jobs, id) == 0 and ', which does not exist' or ' as ' .. value ..
    ', which it has no right to'
  mendable(step, {'permit', entry}, resource, ' is held by job ', id, words)
end
function look_at_one.count(step, resource)
  local said, found = call('HGET', step.keys.claim_permits, resource), admissions.claims_of(step, resource)
  if not said or said == base.int_text(found) then return end
  mendable(step, {'count', resource}, resource, ' is counted as held by the claims of ', said, ' runs, and ', found,
           ' have it')
end

-- Looks at all of the slice; answers the cursor.
function mending.look_through(step, scan)
  if look_at_one[step.args[3]] then
    look_at_one[step.args[3]](step, step.args[4])
    return '0'
  end
  local slice = call(scan, step.args[4], step.args[5], 'COUNT', step.args[6])
  for i = 1, #slice[2], scan == 'SSCAN' and 1 or 2 do look[step.args[3]](step, slice[2][i], slice[2][i + 1]) end
  return slice[1]
end
