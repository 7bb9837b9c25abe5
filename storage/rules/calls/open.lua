-- The first call of a connection that writes. Makes an empty prefix ours. A layout that we do not know is refused, as
-- by every call, and so is a user who may not run all that the rules use (rights.lua).
-- Answer: MADE when it was.
function calls.open(step)
  if call('GET', step.keys.schema) then return 'OK' end
  call('SET', step.keys.schema, base.layout)
  return 'MADE'
end
