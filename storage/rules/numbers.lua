-- The number that only grows, which fences and places in line are drawn from.

-- Behind what is no number there is none.
function numbers.read_last(said) return tonumber(match(said, '^%d+$')) or math.huge end
-- Where no text stands: the first one, or behind what is none.
function fresh.last_number(step) return call('EXISTS', step.keys.number_key) == 1 and math.huge or 0 end
-- A double counts by ones up to 2^53, and no step draws as many as are left then.
function fresh.can_draw(step) return math.max(step.last_number, step.now) < 2 ^ 52 end
-- For whoever writes before it draws: raises now.
function numbers.may_draw(step)
  if not step.can_draw then error('no number can be drawn, by what stands in :number or by the clock') end
end
fresh.is_drawn = false
-- The first of n numbers that nobody ever drew before, also when lost writes took the last one back.
function numbers.draw(step, n)
  if not step.can_draw then numbers.may_draw(step) end
  local first = step.last_number + 1
  if first < step.now then first = step.now end
  step.last_number = first + n - 1
  step.is_drawn = true
  return first
end

function numbers.keep_number(step)
  if step.is_drawn then call('SET', step.keys.number_key, base.int_text(step.last_number)) end
  step.is_drawn = false
end
