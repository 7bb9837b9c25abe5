// The only place that knows how each actor is spawned. All are event-based; nothing is detached.
#pragma once

#include "actors/protocol.hpp"

namespace sluice::actors {

// What stays when a supervisor dies: its pool with its dispatcher, and the actors of its workers.
struct queue_state : served_queue {
  explicit queue_state(served_queue of) : served_queue(std::move(of)) {}
  std::vector<worker_actor> workers;
};
using queue_state_ptr = std::shared_ptr<queue_state>;

storage_actor spawn_storage(caf::local_actor* parent, server_context_ptr e);
supervisor_actor spawn_supervisor(caf::local_actor* parent, server_context_ptr e, queue_state_ptr kept_state,
                                  gate_actor gate);
worker_actor spawn_worker(caf::local_actor* parent, server_context_ptr e, served_queue of);
ticker_actor spawn_ticker(caf::local_actor* parent, server_context_ptr e, const storage_actor& store, root_actor root,
                          gate_actor gate);
gate_actor spawn_gate(caf::local_actor* parent, server_context_ptr e);
// `resource`: `all_permits`, or a limiter.
store_throttler_actor spawn_throttler(caf::local_actor* parent, server_context_ptr e, std::string resource);
// `facade` may be null: nobody speaks to the server by message.
root_actor spawn_root(caf::actor_system& system, server_context_ptr e, facade_actor facade);
// `stop` is called once, when the host asks for it by message; it must not block.
facade_actor spawn_facade(caf::actor_system& system, server_context_ptr e, std::function<void()> stop);

// Counts an actor of `e` from before it is spawned: what is not begun yet is there too. `install_handlers` counts its
// end.
inline void count_actor(const server_context_ptr& e) { e->all_actors->add(); }

// The first act of every actor of `e`. Its end is loud, never CAF's line on stdout: unknown messages are logged, an
// exception ends the actor with `unhandled_exception` and whoever monitors it replaces it.
void install_handlers(caf::scheduled_actor* self, const server_context_ptr& e, const char* name);

}  // namespace sluice::actors
