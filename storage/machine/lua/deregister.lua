-- Writes.
-- A server has left. ARGV[3]: its id.
begin_freeing()
forget_claims({[ARGV[3]] = true})
call('HDEL', servers, ARGV[3])
return 'OK'
