-- Reads.
-- A page of what was put aside since it could not be read, the newest first. ARGV[3]: queue, or empty for all. ARGV[4]:
-- at most so many. ARGV[5], ARGV[6]: the score and id behind which it goes on, both empty at its beginning.
-- Answer, for each: its id, its queue, and when it was put aside.
local most = tonumber(ARGV[4])
local all, pages = ARGV[3] ~= '' and {ARGV[3]} or call('SMEMBERS', queues), {}
for _, queue in ipairs(all) do
  local p = page(line('quarantined', queue), true, '-inf', '+inf', tonumber(ARGV[5]), ARGV[6], most, #all)
  p.queue = queue
  pages[#pages + 1] = p
end
local answer = {}
pages = merged(pages)
while #pages > 0 and #answer < 3 * most do
  local n, p = #answer, pages[1]
  answer[n + 1], answer[n + 2], answer[n + 3] = p.id, p.queue, exact(p.score)
  go_on(pages)
end
return answer
