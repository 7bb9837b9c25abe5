-- Writes.
-- Makes an empty prefix ours. A layout that we do not know is refused, as by every script.
if not call('GET', schema) then call('SET', schema, layout) end
return 'OK'
