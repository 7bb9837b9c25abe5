// One server from its start to its stop, in whoever's actor_system. Used by one thread at a time.
#pragma once

#include "actors/spawn.hpp"

namespace sluice::actors {

class running_server {
public:
  // Opens the store. No actor runs yet.
  static result<std::unique_ptr<running_server>> open(const server_options& options, const handler_registry& handlers,
                                                      const filter_list& filters,
                                                      const pause_function& pause_for = sleep_on);

  const server_context_ptr& context() const { return context_; }

  // Once. `facade` may be null.
  void spawn_into(caf::actor_system& system, facade_actor facade);

  void quiet() {
    if (context_) context_->quiet = true;
  }

  // Quiet, drain, end the actors, give back, leave. `wait_for_actors` returns when none of them runs any
  // more, or when it is in vain to wait. A second stop does nothing.
  stop_report stop(const std::function<void(actor_counter&)>& wait_for_actors);

  // Of a server whose actors could not be made: it is known to nobody any more.
  void leave();
  void give_back_unfinished();

private:
  // In the order they are made; taken down backwards.
  std::shared_ptr<store_access> store_;  // held here too: the store must not end on its own thread
  server_context_ptr context_;
  root_actor root_;
  std::vector<storage::settlement> left_;  // what a stop left behind, for give_back_unfinished
};

}  // namespace sluice::actors
