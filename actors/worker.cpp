#include "actors/spawn.hpp"

namespace sluice::actors {
namespace {

// The actor and its thread end together: whichever goes first takes the other along.
struct worker_state {
  static inline const char* name = "worker";
  std::shared_ptr<pool> of;
  pool::worker_id id = 0;

  ~worker_state() {
    if (of) of->retire_worker(id, "its worker was ended from outside");
  }
};

worker_actor::behavior_type worker(worker_actor::stateful_pointer<worker_state> self, const std::shared_ptr<pool>& of) {
  arm(self, "worker");
  self->state.of = of;
  self->state.id = of->add_worker([me = worker_actor(self)] { caf::anon_send(me, died_atom::value); });
  return {[self](died_atom) { self->quit(caf::exit_reason::unhandled_exception); }};
}

}  // namespace

worker_actor spawn_worker(caf::local_actor* parent, std::shared_ptr<pool> p) {
  auto made = parent->system().spawn(worker, std::move(p));
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
