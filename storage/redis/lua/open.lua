-- Makes the prefix ours, or tells whose it is.
-- ARGV[3]: the schema that this version writes. Answer: the schema that is there now.
-- Invariants: no other script runs before this has answered a schema that the caller knows. Schema 1 wrote the rows of
-- starts otherwise, and nothing else: without any it becomes 2.
local there = call('GET', schema)
if there and not (there == '1' and call('HLEN', starts) == 0) then return there end
call('SET', schema, ARGV[3])
return ARGV[3]
