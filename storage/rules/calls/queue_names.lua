function by_name.queue_names(step) return {names = call('SMEMBERS', step.keys.queues)} end
