-- The parents of a job that has not ended. Results are told until they have max_answer_bytes together.
function by_name.parents(step, asked)
  local told, bytes = {}, 0
  local f = flow.flow_of(step, asked.id)
  for i, parent in ipairs(f and f.parents or {}) do
    local its = flow.parent(parent)
    local g = its.group and groups.group_of(step, its.group)
    local record = not g and call('HGET', step.keys.jobs, parent.id)
    local at = record and places.place_of(step, parent.id, record)
    its.state = g and (groups.words_of_ends[groups.end_of_group(g)] or 'processing') or
      at and places.state_of(at.kind) or nil
    local p = values.read_history(call('HGET', step.keys.history, parent.id))
    local result = p and p.result or ''
    bytes = bytes + #result
    its.left_out = bytes > constants.max_answer_bytes
    its.result = not its.left_out and result or nil
    told[i] = its
  end
  return {parents = told}
end
