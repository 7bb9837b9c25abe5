-- The number that only grows, which fences and places in line are drawn from.

-- What is no text is an error here, and nothing before; behind what is no number there is none.
local last_number = tonumber(match(stored[2] or call('GET', number_key) or '0', '^%d+$')) or math.huge
-- A double counts by ones up to 2^53, and no step draws as many as are left then.
local can_draw = math.max(last_number, now) < 2 ^ 52
-- For whoever writes before it draws: raises now.
local function may_draw()
  if not can_draw then error('no number can be drawn, by what stands in :number or by the clock') end
end
local is_drawn = false
-- The first of n numbers that nobody ever drew before, also when lost writes took the last one back.
local function draw(n)
  may_draw()
  local first = math.max(last_number + 1, now)
  last_number = first + n - 1
  is_drawn = true
  return first
end

-- Scripts that only move or free begin with this: when Redis is out of memory it refuses a script whose first
-- write may grow, and on a replica it refuses any write, so a claim that finds nothing notices a lost master too.
local function begin_freeing() call('HDEL', runs, '') end

local function keep_number()
  if is_drawn then call('SET', number_key, int_text(last_number)) end
  is_drawn = false
end
