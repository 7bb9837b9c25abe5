#include "actors/door_parts.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace sluice::actors {

void door_handlers::mind_all() {
  for (const auto& [type, actor] : e_->types->elsewhere())
    if (actor) mind(actor);
    else log::warn("jobs of type ", type, " wait until the host names an actor for them (handler_atom)");
}

// One that is dead already is told of as well.
void door_handlers::mind(const caf::actor& actor) {
  if (minded_.insert(actor.id()).second) self_->monitor(actor);
}

void door_handlers::name(const job_type& type, const caf::actor& actor) {
  if (!e_->types->name_actor(type.value, actor))
    return log::error("no actor handles jobs of type ", printable(type.value, 200),
                      ": name it with handle_by_actor before the server is spawned");
  if (!actor) return;
  mind(actor);
  store_.hint();  // its jobs may wait
}

void door_handlers::died(const caf::down_msg& down) {
  const auto id = down.source.id();
  minded_.erase(id);
  const auto reason = self_->system().render(down.reason);
  const auto types = e_->types->actor_gone(id);
  const auto why = cat("the actor that handles it died: ", reason);
  for (const auto& p : e_->pools()) {
    p->handler_died(id, why);
    for (const auto& type : types)
      p->give_back_type(type, cat("the actor that handles ", type, " is gone"));
  }
  std::string names;
  for (const auto& type : types)
    names += cat(names.empty() ? "" : ", ", type);
  log::warn("an actor that handles jobs died (", reason,
            names.empty() ? ")" : "); these types wait for another: ", names);
}

}  // namespace sluice::actors
