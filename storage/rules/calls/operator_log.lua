-- A page of what people did, the newest first. What cannot be read is left out.
function by_name.operator_log(step, asked)
  local score = paging.behind(asked)
  local all = paging.page(step.keys.operator_log, true, '-inf', '+inf', score, '', asked.limit + 1, 1)
  local found, ended_at = paging.rows({all}, asked, function(p)
    return values.read_action(p.id) or {}, ''  -- no two have one score
  end)
  local actions = {}
  for _, a in ipairs(found) do
    if a.at then actions[#actions + 1] = a end
  end
  return {page = {actions = actions, next = ended_at}}
end
