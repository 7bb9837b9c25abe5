-- Writes, and its answer is a promise.
-- Removes what is kept of a job that could not be read, for good.
-- ARGV[3]: id. ARGV[4]: since when, as `quarantined_job` told it: what was put aside later stays; empty: whenever.
-- Answer: gone; none, when it was not there; or awaited, and nothing was changed: others have yet to be told of its
-- end, or may still ask how it ended. Passes when memory is out.
begin_freeing()
local id = ARGV[3]
local bytes = call('HGET', quarantine, id)
local queue, since = place_in_quarantine(id, bytes or '')
local is_there = bytes or queue
if not is_there or ARGV[4] ~= '' and ARGV[4] ~= (since and int_text(tonumber(since)) or '0') then return 'none' end
-- Unless another has its id by now, what it has to do with others goes with it.
if has_flow and call('HEXISTS', jobs, id) == 0 then
  for _, letter in ipairs({'s', 'f', 'd'}) do
    if call('ZSCORE', agenda, 'edges ' .. letter .. ' ' .. id) then return 'awaited' end
  end
  on_demand().read_flows({id})
  if not on_demand().may_be_forgotten(id) then return 'awaited' end
  on_demand().forget_flow({id})
end
if queue then call('ZREM', line('quarantined', queue), id) end
call('HDEL', quarantine, id)
return 'gone'
