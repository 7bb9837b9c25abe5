function named.queue_names(step) return {names = call('SMEMBERS', step.keys.queues)} end
