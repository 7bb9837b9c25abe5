-- ARGV from 3: queues.
-- Answer: those of them with jobs that wait to be claimed, by whoever knows their types.
local line = places.line

function calls.ready(step)
  local args = step.args
  local answer = {}
  for i = 3, #args do
    local queue = args[i]
    for _, key in ipairs({line(step, 'ready', queue), line(step, 'front', queue), line(step, 'suspect', queue),
                          places.types_of(step, queue)}) do
      if call('EXISTS', key) == 1 then
        answer[#answer + 1] = queue
        break
      end
    end
  end
  return answer
end
