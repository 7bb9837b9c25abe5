-- Makes the prefix ours, or tells whose it is.
-- ARGV[3]: the schema that this version writes. Answer: the schema that is there now.
-- Invariant: no other script runs before this has answered a schema that the caller knows.
local there = call('GET', schema)
if there then return there end
call('SET', schema, ARGV[3])
return ARGV[3]
