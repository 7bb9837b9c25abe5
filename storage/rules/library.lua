-- What a store is asked, by name: the functions of the library as Redis and the embedded store call them. Those in
-- `calls` take their arguments from the step and answer a list; those in `by_name` are asked by one value in ARGV[3]
-- and answer one, whose members the structs of the same names have (core/describe.hpp), besides the `hint` that others
-- were given.

local function asked_by_name(its)
  return function(step)
    local answer = its(step, unpack_value(step.args[3]))
    answer.hint = hints.finish(step)
    return pack_value(answer)
  end
end

function library.entry(name)
  local carry_out = calls[name] or by_name[name] and asked_by_name(by_name[name])
  return carry_out and function(KEYS, ARGV)
    base.fetch_prelude()
    local refused = (name == 'open' or name == 'raise') and rights.refusal(KEYS[1])
    if refused then return refused end
    local step = base.begin(KEYS, ARGV)
    if name == 'raise' then return carry_out(step) end  -- which is for stores of another layout
    refused = base.refusal_of_layout(step)
    return refused or carry_out(step)
  end
end
