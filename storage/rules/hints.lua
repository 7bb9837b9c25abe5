-- Who has work by this step, and how others hear of it.

-- Of those that waited, how many were woken, and by queue; without those that the step has claimed itself.
fresh.woken = 0
function fresh.woken_in() return {} end
function fresh.woken_now() return {} end  -- by id: this step has woken it

-- Who should look: queues by name, as @ the timers, when something may fall due sooner than they know, and as ! whoever
-- runs jobs, when one of them is asked to end.
function fresh.hinted() return {} end
fresh.hint_size = 0
local max_named = 8  -- in one hint
fresh.hint_words = ''  -- words with spaces between
function hints.has_work(step, whom)
  if step.hinted[whom] then return end
  step.hinted[whom], step.hint_size = true, step.hint_size + 1
  if step.hint_size <= max_named then
    step.hint_words = step.hint_size == 1 and whom or step.hint_words .. ' ' .. whom
  end
end

-- The last writes of a call. Answers the hint that others were given: words with spaces between, * for every queue;
-- empty for nobody.
function hints.finish(step)
  numbers.keep_number(step)
  if step.woken > 0 then
    for queue, n in pairs(step.woken_in) do
      if n > 0 then hints.has_work(step, queue) end
    end
    hints.has_work(step, '@')  -- what is reserved for them lapses
  end
  if step.hint_size == 0 then return '' end
  local of_many = step.hinted['!'] and '@ * !' or '@ *'
  local hint = step.hint_size > max_named and of_many or step.hint_words
  -- Who may not publish is heard by the sweep.
  pcall('PUBLISH', step.keys.channel, step.args[2] .. ' ' .. hint)
  return hint
end
