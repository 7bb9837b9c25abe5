-- A server has left. Queues that nobody else serves count as not served from now on.
function by_name.deregister(step, asked)
  base.sorted(step, step.keys.served)
  local alone = gone_servers.served_alone_by(step, asked.server)
  gone_servers.forget_claims(step, {[asked.server] = true})
  call('HDEL', step.keys.servers, asked.server)
  lists.many('ZREM', step.keys.served, alone)
  return {}
end
