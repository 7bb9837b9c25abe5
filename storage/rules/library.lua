-- What a store is asked, by name: the functions of the library as Redis and the embedded store call them.

function library.entry(name)
  local carry_out = calls[name]
  return carry_out and function(KEYS, ARGV)
    base.fetch_prelude()
    local refused = name == 'open' and rights.refusal(KEYS[1])
    if refused then return refused end
    local step = base.begin(KEYS, ARGV)
    if name == 'raise' then return carry_out(step) end  -- which is for stores of another layout
    refused = base.refusal_of_layout(step)
    return refused or carry_out(step)
  end
end
