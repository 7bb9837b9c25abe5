-- Writes, or finds nothing to do.
-- A claim that settles nothing. ARGV from 3 and answer: see claim.lua.
begin_freeing()
local answer = claim(3)
answer[1] = finish()
return answer
