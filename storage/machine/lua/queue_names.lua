-- Reads.
-- Answer: the names of all queues.
return call('SMEMBERS', queues)
