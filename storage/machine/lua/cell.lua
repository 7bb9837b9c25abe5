-- Reads.
-- ARGV[3]: a cell. Answer: see cell_view.lua.
return cell_view(ARGV[3])
