-- Writes.
-- Keeps what running bodies say of how far they are.
-- ARGV from 3, for each start: id, fence, report.
-- Answer: a digit for each start (0 kept, 1 stale).
-- Invariant: nothing but the report changes, and the start says that there is a past.
local ids, codes, changed, marked = {}, {}, {}, {}
for i = 3, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
local rows, pasts = many('HMGET', runs, ids), many('HMGET', past, ids)
for i, id in ipairs(ids) do
  local start = rows[i] and read_start(rows[i])
  local p = read_past(pasts[i])
  codes[i] = '1'
  if start and p and start.fence == ARGV[3 * i + 1] then
    codes[i] = '0'
    p.reported = ARGV[3 * i + 2]
    changed[#changed + 1] = id
    changed[#changed + 1] = write_past(p)
    if start.has == '0' or start.has == '2' then
      start.has = start.has == '0' and '1' or '3'
      marked[#marked + 1] = id
      marked[#marked + 1] = write_start(start)
    end
  end
end
many('HSET', past, changed)
many('HSET', runs, marked)
return table.concat(codes)
