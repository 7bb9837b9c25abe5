-- One job: as it is stored, and what it has to do with others and with time. Only its id when it is in quarantine;
-- nothing when there is no such job.
function by_name.get(step, asked)
  local id = asked.id
  local its = places.stored_job(step, id)
  local f = its.record and step.has_flow and flow.flow_of(step, id)
  if not f then return {job = its} end
  local clock, parents = f.clock or {start_by = 0, finish_by = 0}, {}
  for i, parent in ipairs(f.parents or {}) do parents[i] = flow.parent(parent) end
  return {job = its, flow = {group = f.group, unique_key = f.key, start_by = clocks.told(clock.start_by),
                             finish_by = clocks.told(clock.finish_by), parents = parents}}
end
