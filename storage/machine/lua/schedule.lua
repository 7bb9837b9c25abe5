-- Reads.
-- One schedule, and the places of all. ARGV[3]: its name.
-- Answer: now; 1 when it is there; see schedule_view.lua; the places.
return {now_text, call('HEXISTS', schedules, ARGV[3]), schedule_view(ARGV[3]), call('HVALS', even_places)}
