-- Writes.
-- Makes the prefix ours, or tells whose it is.
-- ARGV[3]: the schema that this version writes. Answer: the schema that is there now.
-- Invariants: no other script runs before this has answered a schema that the caller knows. Older ones wrote what belongs
-- to starts otherwise: without any they become this one. (Of what had ended before 4, histories show a wrong begin.)
local there = call('GET', schema)
local is_older = there and (tonumber(there) or 0) >= 1 and tonumber(there) < tonumber(ARGV[3])
if there and not (is_older and call('HLEN', starts) == 0) then return there end
call('SET', schema, ARGV[3])
return ARGV[3]
