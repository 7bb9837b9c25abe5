-- All that are stored, by name. What cannot be read is left out.
function by_name.servers(step)
  local all, rows = {}, call('HGETALL', step.keys.servers)
  for i = 1, #rows, 2 do
    local its = values.read_server(rows[i + 1])
    if its then
      its.id, all[#all + 1] = rows[i], its
    end
  end
  table.sort(all, function(a, b)
    if a.name ~= b.name then return lists.by_bytes(a.name, b.name) end
    return lists.by_bytes(a.id, b.id)
  end)
  return {servers = all}
end
