-- Answer, for each server: its id, and "last beat, first beat, what it says".
function calls.servers(step)
  return call('HGETALL', step.keys.servers)
end
