-- Of servers that are no more.
function gone_servers.forget_claims(step, gone)
  for _, mark in ipairs(call('HKEYS', step.keys.claims)) do
    local _, at = values.text_at(mark, match(mark, '^%d+ ()') or 1)
    if at and gone[sub(mark, at)] then call('HDEL', step.keys.claims, mark) end
  end
end

local function queues_of(row)
  local its, queues = values.read_server(row), {}
  for _, queue in ipairs(its and type(its.queues) == 'table' and its.queues or {}) do
    if type(queue) == 'string' then queues[#queues + 1] = match(queue, '^(.*):') or queue end
  end
  return queues
end
-- The queues that one server serves and no other that is alive.
function gone_servers.served_alone_by(step, server)
  local alone, by_others, rows = {}, {}, call('HGETALL', step.keys.servers)
  for i = 1, #rows, 2 do
    local beat = tonumber(match(rows[i + 1], '^(%d+) ') or '0')
    if rows[i] ~= server and beat > step.now - constants.served_for then
      for _, queue in ipairs(queues_of(rows[i + 1])) do by_others[queue] = true end
    end
  end
  for _, queue in ipairs(queues_of(call('HGET', step.keys.servers, server) or '')) do
    if not by_others[queue] then alone[#alone + 1] = queue end
  end
  return alone
end
