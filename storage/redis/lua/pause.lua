-- ARGV[3]: queue. ARGV[4]: 1 to pause, 0 to resume. Passes when memory is out.
begin_freeing()
call('SADD', queues, ARGV[3])
if ARGV[4] == '1' then
  call('SADD', paused, ARGV[3])
else
  call('SREM', paused, ARGV[3])
  finish(true)
end
return 'OK'
