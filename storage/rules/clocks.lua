-- By when a job must have begun (start_within) and must be over (finish_within).
-- The time to start counts from when the job is due or released, until it is claimed; a claim that came to nothing,
-- given back or kept out by a throttler, does not end it, a lost one does. The time to finish counts from its enqueue.
local owes_no_more = flow.owes_no_more

-- As it is told: nothing for none, or for what no clock said.
function clocks.told(instant) return instant > 0 and instant <= base.longest and base.int_text(instant) or nil end
-- The next instant at which something of its times is over; nothing when there is none.
function clocks.next_over(clock, is_begun)
  local start_by = not is_begun and clock.start_by or 0
  if start_by == 0 then return clock.finish_by > 0 and clock.finish_by or nil end
  return clock.finish_by > 0 and math.min(start_by, clock.finish_by) or start_by
end
function clocks.watch_clock(step, id, f, is_begun)
  local at = f.clock and clocks.next_over(f.clock, is_begun)
  if at then flow.owes_at(step, 'expire - ' .. id, at) elseif f.clock then owes_no_more(step, 'expire - ' .. id) end
end
-- It is due at this instant.
function clocks.start_clock(step, id, f, from)
  if not f.clock then return end
  if f.clock.start_within > 0 then f.clock.start_by = math.min(from + f.clock.start_within, base.longest) end
  flow.change_flow(step, id, f)
  clocks.watch_clock(step, id, f, false)
end
function clocks.stop_clock(step, id, f)
  if not f.clock then return end
  owes_no_more(step, 'expire - ' .. id)
end
-- It begins anew: awaits others again, or is had to run by a person.
function clocks.finish_clock_again(step, id, f)
  if not f.clock then return end
  if f.clock.finish_within > 0 then f.clock.finish_by = math.min(step.now + f.clock.finish_within, base.longest) end
  f.clock.start_by = 0
  flow.change_flow(step, id, f)
  clocks.watch_clock(step, id, f, false)
end
function clocks.begin_clock_again(step, id, f)
  clocks.finish_clock_again(step, id, f)
  clocks.start_clock(step, id, f, step.now)
end

function clocks.in_words(time)
  if time % 1000000 == 0 then return base.int_text(time / 1000000) .. ' s' end
  return base.int_text(math.ceil(time / 1000)) .. ' ms'
end
-- Why it must not start now: how it ends, the reason and the cause.
function clocks.over_for(step, f, is_begun)
  local c = f.clock
  if not c then return nil end
  if not is_begun and c.start_by > 0 and step.now >= c.start_by then
    return 'd', 'it did not start within ' .. clocks.in_words(c.start_within), 'expired'
  end
  if c.finish_by > 0 and step.now >= c.finish_by then
    return 'f', 'it was not over within ' .. clocks.in_words(c.finish_within), 'deadline'
  end
end
function clocks.has_begun(p) return p.attempt > 0 or p.losses > 0 end
-- Jobs whose times are to be looked at.
function clocks.plan_expiry(step, ids)
  flow.read_flows(step, ids)
  local histories = lists.many('HMGET', step.keys.history, ids)
  for i, id in ipairs(ids) do
    local f, p = flow.flow_of(step, id), values.read_history(histories[i])
    owes_no_more(step, 'expire - ' .. id)
    if f and f.clock and p then
      local begun = clocks.has_begun(p) or call('HEXISTS', step.keys.runs, id) == 1
      local letter, reason, cause = clocks.over_for(step, f, begun)
      -- Who runs is looked at again when that run ends.
      if not (letter and early_ends.end_waiting(step, id, letter, reason, cause)) and not letter then
        clocks.watch_clock(step, id, f, begun)
      end
    end
  end
end
