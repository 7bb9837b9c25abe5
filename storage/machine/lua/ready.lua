-- Reads.
-- ARGV from 3: queues.
-- Answer: those of them with jobs that wait to be claimed, by whoever knows their types.
local answer = {}
for i = 3, #ARGV do
  local queue = ARGV[i]
  for _, key in ipairs({line('ready', queue), line('front', queue), line('suspect', queue), types_of(queue)}) do
    if call('EXISTS', key) == 1 then
      answer[#answer + 1] = queue
      break
    end
  end
end
return answer
