-- Those of some queues with jobs that wait to be claimed, by whoever knows their types.
local line = places.line

function by_name.ready(step, asked)
  local names = {}
  for _, queue in ipairs(asked.queues) do
    for _, key in ipairs({line(step, 'ready', queue), line(step, 'front', queue), line(step, 'suspect', queue),
                          places.types_of(step, queue)}) do
      if call('EXISTS', key) == 1 then
        names[#names + 1] = queue
        break
      end
    end
  end
  return {names = names}
end
