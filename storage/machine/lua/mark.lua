-- Writes.
-- A write for replicas to acknowledge: a request that was carried out before writes nothing, and WAIT would wait for
-- nothing. Passes when memory is out.
begin_freeing()
call('SET', number_key, call('GET', number_key) or '0')
return 'OK'
