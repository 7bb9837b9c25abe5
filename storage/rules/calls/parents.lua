-- The parents of a job that has not ended. ARGV[3]: its id.
-- Answer, for each parent: its id, or a group as @NAME; 0 when it has not ended, 1 or 3 when it did as the job wants, 2
-- or 4 when otherwise; its line, empty when it is not there (of a group: as what it has ended, or processing); its
-- result; and 1 when that was left out, beyond max_answer_bytes in all.
function calls.parents(step)
  local args = step.args
  local answer, bytes = {}, 0
  local f = flow.flow_of(step, args[3])
  for _, parent in ipairs(f and f.parents or {}) do
    local g = groups.group_in(parent.id) and groups.group_of(step, groups.group_in(parent.id))
    local record = not g and call('HGET', step.keys.jobs, parent.id)
    local at = record and places.place_of(step, parent.id, record)
    local kind = g and (continuations.words_of_ends[groups.end_of_group(g)] or 'processing') or at and at.kind or ''
    local p = values.read_history(call('HGET', step.keys.history, parent.id))
    local n = #answer
    answer[n + 1], answer[n + 2] = parent.id, parent.state
    local result = p and p.result or ''
    bytes = bytes + #result
    local is_cut = bytes > constants.max_answer_bytes
    answer[n + 3], answer[n + 4], answer[n + 5] = kind, is_cut and '' or result, is_cut and 1 or 0
  end
  return answer
end
