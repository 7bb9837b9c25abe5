-- Writes.
-- Makes an empty prefix ours. A layout that we do not know is refused, as by every script.
-- Answer: MADE when it was.
if call('GET', schema) then return 'OK' end
call('SET', schema, layout)
return 'MADE'
