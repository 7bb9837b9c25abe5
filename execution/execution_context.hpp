// What everything that executes jobs in one server shares. Made at the server's start.
#pragma once

#include "execution/execution_config.hpp"
#include "execution/served_queues.hpp"
#include "execution/store_access.hpp"
#include "execution/suspect_slot.hpp"
#include "execution/watch_list.hpp"

namespace sluice::execution {

class lease_keeper;

struct execution_context {
  server_options options;
  server_id id;
  std::shared_ptr<const execution_config> config;
  std::shared_ptr<store_access> store;
  // The types that this server can run now.
  std::function<std::shared_ptr<const type_names>()> known_types;
  served_queues queues;
  watch_list watched;
  suspect_slot suspects;             // taken by the one claim or run that may hold one
  std::atomic<bool> quiet{false};    // claims nothing new
  std::atomic<bool> stopped{false};  // set by a stop: who begins after it does nothing
  // How often the store refused this server's renewals. Who could not renew then may have been anybody.
  std::atomic<std::uint64_t> refused_renewals{0};
  std::shared_ptr<lease_keeper> keeper;
};

}  // namespace sluice::execution
