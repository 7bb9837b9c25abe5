-- Who has work by this step, and how others hear of it.

-- Of those that waited, how many were woken, and by queue; without those that the step has claimed itself.
local woken = 0
local woken_in = {}
local woken_now = {}  -- by id: this step has woken it

-- Who should look: queues by name, as @ the timers, when something may fall due sooner than they know, and as ! whoever
-- runs jobs, when one of them is asked to end.
local hinted = {}
local hint_size = 0
local max_named = 8  -- in one hint
local hint_words = ''  -- words with spaces between
local function has_work(whom)
  if hinted[whom] then return end
  hinted[whom], hint_size = true, hint_size + 1
  if hint_size <= max_named then hint_words = hint_size == 1 and whom or hint_words .. ' ' .. whom end
end

-- The last writes of a script. Answers the hint that others were given: words with spaces between, * for every queue;
-- empty for nobody.
local function finish()
  keep_number()
  for queue, n in pairs(woken_in) do
    if n > 0 then
      has_work(queue)
      has_work('@')  -- what is reserved for them lapses
    end
  end
  if hint_size == 0 then return '' end
  local of_many = hinted['!'] and '@ * !' or '@ *'
  local hint = hint_size > max_named and of_many or hint_words
  -- Who may not publish is heard by the sweep.
  redis.pcall('PUBLISH', channel, ARGV[2] .. ' ' .. hint)
  return hint
end
