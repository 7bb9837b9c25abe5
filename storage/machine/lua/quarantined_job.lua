-- Reads.
-- What is kept of a job that could not be read. ARGV[3]: id.
-- Answer: its queue, or empty; since when, or 0; and record, history and run, each as "length:bytes". Nothing when it
-- is not in quarantine.
local bytes = call('HGET', quarantine, ARGV[3])
if not bytes then return {} end
local queue, since = place_in_quarantine(ARGV[3], bytes)
return {queue or '', since and int_text(tonumber(since)) or '0', bytes}
