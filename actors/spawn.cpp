#include "actors/spawn.hpp"

#include "actors/supervisor.hpp"
#include "core/log.hpp"

namespace sluice::actors {
namespace {

supervisor_actor::behavior_type supervisor(supervisor_actor::stateful_pointer<supervisor_state> self, engine_ptr e,
                                           queue_desk_ptr desk, storage_actor store, const gate_actor& gate) {
  arm(self, e, "supervisor");
  self->set_down_handler([self](caf::down_msg& down) { self->state.worker_gone(down.source); });
  // Told to end, it takes its workers along; dying of anything else it leaves them to its successor.
  self->set_exit_handler([self](caf::exit_msg& end) {
    for (const auto& w : self->state.desk->workers)
      self->send_exit(w, caf::exit_reason::user_shutdown);
    self->quit(std::move(end.reason));
  });
  auto& s = self->state;
  s.self = self;
  s.e = std::move(e);
  s.desk = std::move(desk);
  s.store = std::move(store);
  // Before it asks for the first time: no job may come between that and its being told.
  caf::anon_send(s.store, listen_atom::value, s.desk->pool->queue.value, hinted_actor(supervisor_actor(self)));
  s.start_up();
  s.use(gate);
  return {
      [self](hint_atom) { self->state.look_for_work(); },
      [self](ended_atom) { self->state.ended(); },
      [self](pump_atom) { self->state.pump(); },
      [self](applied_atom, std::uint64_t number, const answers_ptr& answers) { self->state.applied(number, *answers); },
      [self](again_atom, std::uint64_t number) { self->state.again(number); },
      [self](store_atom, const storage_actor& other) { self->state.use(other); },
      [self](judged_atom, const verdicts_ptr& verdicts) { self->state.judged(*verdicts); },
      [self](gate_atom, const gate_actor& other) { self->state.use(other); },
      [self](overdue_atom, std::uint64_t f) { self->state.overdue(fence{f}); },
      [self](sweep_atom) { self->state.sweep(); },
  };
}

}  // namespace

supervisor_actor spawn_supervisor(caf::local_actor* parent, engine_ptr e, queue_desk_ptr desk, storage_actor store,
                                  gate_actor gate) {
  enlist(e);
  auto made = parent->system().spawn(supervisor, std::move(e), std::move(desk), std::move(store), std::move(gate));
  parent->monitor(made);
  return made;
}

void arm(caf::scheduled_actor* self, const engine_ptr& e, const char* name) {
  self->attach_functor([all = e->all_actors](const caf::error&) { all->leave(); });
  self->set_exception_handler([name](std::exception_ptr& thrown) -> caf::error {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& thing) {
      log::error("the ", name, " actor died: ", words_of(thing));
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
