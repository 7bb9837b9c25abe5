-- Writes, and its answer is a promise.
-- Makes, seals or cancels a group. ARGV[3]: create, seal or cancel. ARGV[4]: its name. Of create, ARGV[5]: the group that
-- it is in, or empty; ARGV[6]: in how many microseconds it is cancelled unless it is sealed.
-- Answer: done, already (nothing changed), not_found, or why not: "other GROUP" (it is there, in that group or none),
-- "no_group GROUP", "sealed GROUP" or "cancelled GROUP" of the one that it is to be in, "is cancelled" or "is finished".
-- Then the hint.
-- Invariants: see groups.lua. No group is in itself, since the one that it is in is there before it.
if ARGV[3] == 'cancel' then begin_freeing() end
call('HLEN', flow)
call('HLEN', group_counts)
local ended = {}
local told = on_demand().plan_group_change(ARGV[3], ARGV[4], ARGV[5], ARGV[6], ended)
if told ~= 'done' then return {told, ''} end
on_demand().plan_ends(ended)
keep_totals(job_counts)
say_layout()
on_demand().carry_out_ends()
return {told, finish()}
