-- Moves due jobs to the tails of their queues, oldest first.
-- ARGV[3]: at most so many.
-- Answer: how many were moved, and in how many microseconds the next is due (empty: there is none; 0: more are due).
-- Invariant: `due` names each queue that has scheduled jobs, with the earliest. Passes when memory is out.
begin_freeing()
local limit = tonumber(ARGV[3])
local found, looked_at = {}, call('ZRANGE', due, '-inf', now_text, 'BYSCORE')
for _, queue in ipairs(looked_at) do
  local rows = call('ZRANGE', line('scheduled', queue), '-inf', now_text, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  for i = 1, #rows, 2 do found[#found + 1] = {id = rows[i], at = tonumber(rows[i + 1]), queue = queue} end
end
if #looked_at > 1 then table.sort(found, function(a, b) return a.at < b.at or (a.at == b.at and a.id < b.id) end) end
local moved = math.min(#found, limit)
if moved > 0 then
  local ids, leaving, entering = {}, grouped(), grouped()
  for i = 1, moved do ids[i] = found[i].id end
  local pasts = many('HMGET', past, ids)
  local place = draw(moved)
  for i = 1, moved do
    local f = found[i]
    local p = read_past(pasts[i]) or {losses = 0}  -- who claims it will see that it cannot be read
    add_one(leaving, sorted(line('scheduled', f.queue)), f.id)
    add_two(entering, sorted(tail(f.queue, p.losses)), whole(place + i - 1), f.id)
  end
  each_list(leaving, 'ZREM')
  each_list(entering, 'ZADD')
end
for _, queue in ipairs(looked_at) do refresh_due(queue) end
finish(moved > 0)
local first = call('ZRANGE', due, 0, 0, 'WITHSCORES')
return {moved, first[2] and whole(math.max(0, first[2] - now)) or ''}
