-- Reads.
-- Answer, for each server: its id, and "last beat, first beat, what it says".
return call('HGETALL', servers)
