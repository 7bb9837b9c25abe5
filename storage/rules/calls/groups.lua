-- Groups, by name: one alone, or a page.
function by_name.groups(step, asked)
  local names = {asked.only}
  if asked.only == '' then
    names = call('HKEYS', step.keys.group_counts)
    table.sort(names, lists.by_bytes)
  end
  local told = {}
  for _, name in ipairs(names) do
    local its = (asked.only ~= '' or lists.by_bytes(asked.after, name)) and groups.status(step, name)
    if its and #told == asked.limit then return {page = {groups = told, next = told[#told].name}} end
    if its then told[#told + 1] = its end
  end
  return {page = {groups = told}}
end
