#pragma once

#include "actors/spawn.hpp"
#include "execution/supervisor_link.hpp"

namespace sluice::actors {

// Owns, sizes and replaces the workers of one queue. What its dispatcher asks of an actor goes through it.
struct supervisor_state {
  static inline const char* name = "supervisor";

  supervisor_actor::pointer self = nullptr;
  server_context_ptr e;
  queue_state_ptr kept_state;
  std::shared_ptr<supervisor_link> link;
  steady_point last_refill{};
  bool refill_waits = false;

  ~supervisor_state();
  void start_up(const gate_actor& gate);
  void use(const gate_actor& gate);
  void overdue(sluice::fence f) const;
  void sweep();
  void refill();
  void worker_gone(const caf::actor_addr& who);
};

}  // namespace sluice::actors
