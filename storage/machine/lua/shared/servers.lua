-- Of servers that are no more.
local function forget_claims(gone)
  for _, mark in ipairs(call('HKEYS', claims)) do
    local _, at = text_at(mark, match(mark, '^%d+ ()') or 1)
    if at and gone[sub(mark, at)] then call('HDEL', claims, mark) end
  end
end
