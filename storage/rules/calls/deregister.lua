-- A server has left.
function by_name.deregister(step, asked)
  gone_servers.forget_claims(step, {[asked.server] = true})
  call('HDEL', step.keys.servers, asked.server)
  return {}
end
