-- A server has left. ARGV[3]: its id.
begin_freeing()
call('HDEL', servers, ARGV[3])
forget_claims({[ARGV[3]] = true})
return 'OK'
