-- A server has left. ARGV[3]: its id.
function calls.deregister(step)
  local args = step.args
  gone_servers.forget_claims(step, {[args[3]] = true})
  call('HDEL', step.keys.servers, args[3])
  return 'OK'
end
