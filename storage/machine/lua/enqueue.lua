-- Writes, and its answer is a promise.
-- Stores new jobs.
-- ARGV from 3, for each job: id, queue, delay in microseconds, record.
-- Answer, for each job: empty when it was stored, else the record that stands under its id already.
-- Refused as a whole when memory is out.
local at = {}
for i = 3, #ARGV, 4 do at[#at + 1] = i end
local answer, stored = store_new(at)
if stored then finish() end
return answer
