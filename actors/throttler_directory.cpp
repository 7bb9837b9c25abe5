#include "actors/throttler_directory.hpp"

#include "core/log.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice::actors {

throttler_directory::~throttler_directory() {
  for (const auto& [resource, actor] : own_)
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

store_throttler_actor throttler_directory::own(const std::string& resource) {
  auto& found = own_[resource];
  if (!found) found = spawn_throttler(gate_, e_, resource);
  return found;
}

throttler_actor throttler_directory::custom(const std::string& resource) const {
  const auto found = custom_throttlers_.find(resource);
  return found == custom_throttlers_.end() ? throttler_actor() : found->second;
}

void throttler_directory::name_custom(const std::string& name, const throttler_actor& actor) {
  const auto resource = resource_of(throttler_kind::custom, name);
  if (!actor) return void(custom_throttlers_.erase(resource));
  gate_->monitor(actor);
  custom_throttlers_[resource] = actor;
  look_at_lines({resource});  // whoever waits is asked about at once
}

void throttler_directory::look_at_lines(const std::vector<std::string>& resources) {
  // Who has no such custom throttler cannot say who may run.
  for (const auto& resource : resources)
    if (!e_->config->is_custom_actor(resource) || custom_throttlers_.contains(resource))
      caf::anon_send(own(resource), open_atom::value);
}

void throttler_directory::notify_run_ended(const std::string& resource, std::vector<throttled_end> ends) const {
  if (const auto actor = custom(resource)) caf::anon_send(actor, ended_runs_atom::value, std::move(ends));
}

void throttler_directory::forget(const caf::actor_addr& who) {
  std::erase_if(own_, [&](const auto& c) { return c.second && c.second.address() == who; });
  std::erase_if(custom_throttlers_, [&](const auto& c) {
    const bool gone = c.second.address() == who;
    if (gone && !e_->stopped)
      log::warn("throttler ", printable(c.first, 200), " is gone; jobs that name it wait until it is named again");
    return gone;
  });
}

}  // namespace sluice::actors
