-- By when a job must have begun (start_within) and must be over (finish_within).
-- The time to start counts from when the job is due or released, until it is claimed; a claim that came to nothing, given
-- back or kept out by a throttler, does not end it, a lost one does. The time to finish counts from its enqueue.

-- The next instant at which something of its times is over; nothing when there is none.
local function next_over(clock, is_begun)
  local start_by = not is_begun and clock.start_by or 0
  if start_by == 0 then return clock.finish_by > 0 and clock.finish_by or nil end
  return clock.finish_by > 0 and math.min(start_by, clock.finish_by) or start_by
end
local function watch_clock(id, f, is_begun)
  local at = f.clock and next_over(f.clock, is_begun)
  if at then owes_at('expire - ' .. id, at) elseif f.clock then owes_no_more('expire - ' .. id) end
end
-- It is due at this instant.
local function start_clock(id, f, from)
  if not f.clock then return end
  if f.clock.start_within > 0 then f.clock.start_by = math.min(from + f.clock.start_within, longest) end
  change_flow(id, f)
  watch_clock(id, f, false)
end
local function stop_clock(id, f)
  if not f.clock then return end
  owes_no_more('expire - ' .. id)
end
-- It begins anew: awaits others again, or is had to run by a person.
local function finish_clock_again(id, f)
  if not f.clock then return end
  if f.clock.finish_within > 0 then f.clock.finish_by = math.min(now + f.clock.finish_within, longest) end
  f.clock.start_by = 0
  change_flow(id, f)
  watch_clock(id, f, false)
end
local function begin_clock_again(id, f)
  finish_clock_again(id, f)
  start_clock(id, f, now)
end

local function in_words(time)
  if time % 1000000 == 0 then return int_text(time / 1000000) .. ' s' end
  return int_text(math.ceil(time / 1000)) .. ' ms'
end
-- Why it must not start now: how it ends, the reason and the cause.
local function over_for(f, is_begun)
  local c = f.clock
  if not c then return nil end
  if not is_begun and c.start_by > 0 and now >= c.start_by then
    return 'd', 'it did not start within ' .. in_words(c.start_within), 'expired'
  end
  if c.finish_by > 0 and now >= c.finish_by then
    return 'f', 'it was not over within ' .. in_words(c.finish_within), 'deadline'
  end
end
local function has_begun(p) return p.attempt > 0 or p.losses > 0 end
-- Jobs whose times are to be looked at; see plan_ends for `ended`.
local function plan_expiry(ids, ended)
  read_flows(ids)
  local histories = many('HMGET', history, ids)
  for i, id in ipairs(ids) do
    local f, p = flow_of(id), read_history(histories[i])
    owes_no_more('expire - ' .. id)
    if f and f.clock and p then
      local begun = has_begun(p) or call('HEXISTS', runs, id) == 1
      local letter, reason, cause = over_for(f, begun)
      -- Who runs is looked at again when that run ends.
      if not (letter and end_waiting(id, letter, reason, cause, ended)) and not letter then watch_clock(id, f, begun) end
    end
  end
end
