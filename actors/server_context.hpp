// What the actors and threads of one running server share. Made by server::start, gone when the last
// of them is.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "actors/actor_counter.hpp"
#include "actors/configured_definitions.hpp"
#include "actors/fatal_report.hpp"
#include "actors/type_table.hpp"
#include "actors/zone_watch.hpp"
#include "execution/execution_context.hpp"

namespace sluice::actors {

using namespace execution;
class hint_router;

struct server_context : execution_context, std::enable_shared_from_this<server_context> {
  server_info self;  // as it is told to the store
  std::unique_ptr<type_table> types;
  std::map<std::string, std::shared_ptr<const throttler_route>> custom_throttlers;  // of the host, by name
  std::shared_ptr<actor_counter> all_actors = std::make_shared<actor_counter>();
  fatal_report fatal;
  configured_definitions definitions{*this};
  zone_watch zones;
  std::shared_ptr<hint_router> hints;

  // The handle by which all of it asks that store.
  void use_store(std::shared_ptr<storage::shared_store> opened);
  // The queue's pool and dispatcher, made when missing.
  served_queue queue(const std::string& name, const queue_options& how) {
    return queues.of(name, how, shared_from_this());
  }
};

using server_context_ptr = std::shared_ptr<server_context>;

// Between two tries of a start that finds its store away: false when there shall be no other.
using pause_function = std::function<bool(duration)>;
bool sleep_on(duration pause);

// Checks the options, opens the store and tells it that this server lives. No actor runs yet.
result<server_context_ptr> open_server_context(const server_options& options, const handler_registry& handlers,
                                               const filter_list& filters, const pause_function& pause_for = sleep_on);

}  // namespace sluice::actors
