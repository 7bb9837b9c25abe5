#include "actors/spawn.hpp"

#include "actors/supervisor.hpp"
#include "core/log.hpp"
#include "execution/dispatcher.hpp"

namespace sluice::actors {
namespace {

supervisor_actor::behavior_type supervisor(supervisor_actor::stateful_pointer<supervisor_state> self,
                                           server_context_ptr e, queue_state_ptr kept_state, const gate_actor& gate) {
  install_handlers(self, e, "supervisor");
  self->set_down_handler([self](caf::down_msg& down) { self->state.worker_gone(down.source); });
  // Told to end, it takes its workers along; dying of anything else it leaves them to its successor.
  self->set_exit_handler([self](caf::exit_msg& end) {
    for (const auto& w : self->state.kept_state->workers)
      self->send_exit(w, caf::exit_reason::user_shutdown);
    self->quit(std::move(end.reason));
  });
  auto& s = self->state;
  s.self = self;
  s.e = std::move(e);
  s.kept_state = std::move(kept_state);
  s.start_up(gate);
  return {
      [self](again_atom, timer what) { self->state.kept_state->dispatcher->again(what); },
      [self](filters_atom) { self->state.kept_state->dispatcher->call_filters(); },
      [self](gate_atom, const gate_actor& other) { self->state.use(other); },
      [self](overdue_atom, std::uint64_t f) { self->state.overdue(fence{f}); },
      [self](sweep_atom) { self->state.sweep(); },
  };
}

}  // namespace

supervisor_actor spawn_supervisor(caf::local_actor* parent, server_context_ptr e, queue_state_ptr kept_state,
                                  gate_actor gate) {
  count_actor(e);
  auto made = parent->system().spawn(supervisor, std::move(e), std::move(kept_state), std::move(gate));
  parent->monitor(made);
  return made;
}

void install_handlers(caf::scheduled_actor* self, const server_context_ptr& e, const char* name) {
  self->attach_functor([all = e->all_actors](const caf::error&) { all->remove(); });
  self->set_exception_handler([name](std::exception_ptr& thrown) -> caf::error {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& thing) {
      log::error("the ", name, " actor died: ", message_of(thing));
    } catch (...) {
      log::error("the ", name, " actor died of something that is no exception");
    }
    return caf::exit_reason::unhandled_exception;
  });
  self->set_default_handler([name](caf::scheduled_actor*, caf::message_view& message) -> caf::result<caf::message> {
    try {
      log::error("the ", name, " actor does not understand ", caf::to_string(message.content()));
    } catch (...) {  // a type of the host's that cannot be shown
      log::error("the ", name, " actor does not understand a message that cannot be shown");
    }
    return caf::sec::unexpected_message;
  });
}

}  // namespace sluice::actors
