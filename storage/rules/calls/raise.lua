-- Raises the layout of a store that an older Sluice made to ours, in this one step. No other call runs at another
-- layout than its own; `servers` and `schema` are the same in all.
-- ARGV[3]: the layout that a file has by its tables, else empty.
-- Nothing is done while a server lives: with the next step it would have to end. Who was silent for a minute does not
-- live; the fences of its runs are refused like its steps.
-- Answer: the layout that was found, empty for no store; then the names of servers that live.
local layout = base.layout

-- How a layout becomes the next one, by its number. None yet: 4 is the first that was released.
local raises = {}

function calls.raise(step)
  local args = step.args
  local said = call('GET', step.keys.schema)
  local found = said or args[3]
  if found == layout or (found == '' and not said) then return {found} end
  local from, to = tonumber(match(found, '^[1-9]%d*$')), tonumber(layout)
  local is_known = from and from < to
  for n = from or 0, to - 1 do is_known = is_known and raises[n] end
  if not is_known then return {err = 'LAYOUT ' .. found .. ' ' .. layout} end

  local answer, alive_within = {found}, 60000000
  local rows = call('HGETALL', step.keys.servers)
  for i = 1, #rows, 2 do
    local beat, at = match(rows[i + 1], '^(%d+) %d+ %d+ %d+ ()')
    if beat and tonumber(beat) > step.now - alive_within then
      answer[#answer + 1] = values.text_at(rows[i + 1], at) or rows[i]
    end
  end
  if #answer > 1 then return answer end

  for n = from, to - 1 do raises[n](step) end
  call('SET', step.keys.schema, layout)
  return answer
end
