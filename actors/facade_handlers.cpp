#include "actors/facade_parts.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "execution/dispatcher.hpp"

namespace sluice::actors {

void facade_handlers::monitor_all() {
  for (const auto& [type, actor] : e_->types->handled_by_actor())
    if (actor) monitor_actor(actor);
    else log::warn("jobs of type ", type, " wait until the host names an actor for them (set_handler_atom)");
}

// One that is dead already is told of as well.
void facade_handlers::monitor_actor(const caf::actor& actor) {
  if (monitored_.insert(actor.id()).second) self_->monitor(actor);
}

void facade_handlers::name(const job_type& type, const caf::actor& actor) {
  if (!e_->types->name_actor(type.value, actor))
    return log::error("no actor handles jobs of type ", printable(type.value, 200),
                      ": name it with handle_by_actor before the server is spawned");
  if (!actor) return;
  monitor_actor(actor);
  for (const auto& d : e_->queues.dispatchers())
    d->claim_if_free();  // its jobs may wait
}

void facade_handlers::died(const caf::down_msg& down) {
  const auto id = down.source.id();
  monitored_.erase(id);
  const auto reason = self_->system().render(down.reason);
  const auto types = e_->types->actor_gone(id);
  const auto why = cat("the actor that handles it died: ", reason);
  for (const auto& p : e_->queues.pools()) {
    p->workers.actor_died(id, why);
    const auto runs = p->lock();
    for (const auto& run : std::deque(runs->queue))
      if (const auto& type = run->about.type.value; std::find(types.begin(), types.end(), type) != types.end())
        runs->give_back(run, cat("the actor that handles ", type, " is gone"));
  }
  if (e_->stopped) return;  // a host ends its actors when its server stops
  std::string names;
  for (const auto& type : types)
    names += cat(names.empty() ? "" : ", ", type);
  log::warn("an actor that handles jobs died (", reason,
            names.empty() ? ")" : "); these types wait for another: ", names);
}

}  // namespace sluice::actors
