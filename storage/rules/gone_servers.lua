-- Of servers that are no more.
function gone_servers.forget_claims(step, gone)
  for _, mark in ipairs(call('HKEYS', step.keys.claims)) do
    local _, at = values.text_at(mark, match(mark, '^%d+ ()') or 1)
    if at and gone[sub(mark, at)] then call('HDEL', step.keys.claims, mark) end
  end
end
