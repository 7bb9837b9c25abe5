-- One schedule, and the places of all. ARGV[3]: its name.
-- Answer: now; 1 when it is there; see schedule_views.lua; the places.
function calls.schedule(step)
  local args = step.args
  return {step.now_text, call('HEXISTS', step.keys.schedules, args[3]),
          schedule_views.schedule_view(step, args[3]), call('HVALS', step.keys.even_places)}
end
