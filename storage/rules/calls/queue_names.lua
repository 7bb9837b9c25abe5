-- Answer: the names of all queues.
function calls.queue_names(step)
  return call('SMEMBERS', step.keys.queues)
end
