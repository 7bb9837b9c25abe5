// The only place that knows how each actor is spawned. All are event-based; nothing is detached.
#pragma once

#include <array>
#include <optional>

#include "actors/protocol.hpp"

namespace sluice::actors {

struct open_order;

// What stays when a supervisor dies: its pool, the actors of its workers, the orders it waits for, and the ends that
// the store refused.
struct queue_desk {
  std::shared_ptr<sluice::actors::pool> pool;
  std::vector<worker_actor> workers;
  std::array<std::shared_ptr<open_order>, 2> orders;  // by lane; null: none
  std::vector<std::shared_ptr<open_order>> refused;   // asked again after a while, beside the others
  // By lane, a claim that was refused and may have been done by halves: the next is this one, asked again, as long as
  // the leases that it may have given are good.
  struct claim_mark {
    std::uint64_t op = 0;
    steady_point sent{};
  };
  std::array<std::optional<claim_mark>, 2> refused_claim;
};
using queue_desk_ptr = std::shared_ptr<queue_desk>;

storage_actor spawn_storage(caf::local_actor* parent, engine_ptr e);
supervisor_actor spawn_supervisor(caf::local_actor* parent, engine_ptr e, queue_desk_ptr desk, storage_actor store,
                                  gate_actor gate);
worker_actor spawn_worker(caf::local_actor* parent, engine_ptr e, std::shared_ptr<pool> p);
ticker_actor spawn_ticker(caf::local_actor* parent, engine_ptr e, storage_actor store, root_actor root,
                          gate_actor gate);
gate_actor spawn_gate(caf::local_actor* parent, engine_ptr e, const storage_actor& store);
permits_actor spawn_permits(caf::local_actor* parent, engine_ptr e, const storage_actor& store);
cell_actor spawn_cell(caf::local_actor* parent, engine_ptr e, std::string resource, const storage_actor& store);
// `door` may be null: nobody speaks to the server by message.
root_actor spawn_root(caf::actor_system& system, engine_ptr e, door_actor door);
// `stop` is called once, when the host asks for it by message; it must not block.
door_actor spawn_door(caf::actor_system& system, engine_ptr e, std::function<void()> stop);

// How long to wait before the store is asked again that refused so often in a row.
duration retry_delay(std::uint32_t failures);

// Counts an actor of `e` from before it is spawned: what is not begun yet is there too. `arm` counts its end.
inline void enlist(const engine_ptr& e) { e->all_actors->enter(); }

// The first act of every actor of `e`. Its end is loud, never CAF's line on stdout: unknown messages are logged, an
// exception ends the actor with `unhandled_exception` and whoever monitors it replaces it.
void arm(caf::scheduled_actor* self, const engine_ptr& e, const char* name);

}  // namespace sluice::actors
