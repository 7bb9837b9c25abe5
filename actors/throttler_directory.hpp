// Whom the gate asks: Sluice's own throttlers, which it spawns and whose end it outlives, and custom ones of the host.
#pragma once

#include "actors/spawn.hpp"

namespace sluice::actors {

class throttler_directory {
public:
  throttler_directory(caf::scheduled_actor* gate, server_context_ptr e) : gate_(gate), e_(std::move(e)) {}
  // What the gate spawned ends with it, however it ends: its successor has its own.
  ~throttler_directory();
  throttler_directory(const throttler_directory&) = delete;

  // `resource`: `all_permits`, or a limiter.
  store_throttler_actor own(const std::string& resource);
  // Null: it is not there now.
  throttler_actor custom(const std::string& resource) const;

  // This actor of the host is the custom throttler of that name; null: none is.
  void name_custom(const std::string& name, const throttler_actor& actor);
  // Lines of these may be looked at again.
  void look_at_lines(const std::vector<std::string>& resources);
  void notify_run_ended(const std::string& resource, std::vector<throttled_end> ends) const;
  // One of them has died.
  void forget(const caf::actor_addr& who);

private:
  caf::scheduled_actor* gate_;
  server_context_ptr e_;
  std::map<std::string, store_throttler_actor> own_;
  std::map<std::string, throttler_actor> custom_throttlers_;
};

}  // namespace sluice::actors
