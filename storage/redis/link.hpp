// A connection that is ready for use: the master found, logged in, its role, version and settings looked at.
#pragma once

#include <optional>

#include <sluice/options.hpp>

#include "storage/redis/connection.hpp"

namespace sluice::storage::redis {

// What a server's settings promise.
struct promises {
  sluice::durability durability = durability::volatile_;
  std::string why;                      // the settings, as "appendonly yes, appendfsync always"
  std::optional<std::string> evicting;  // the policy, when it may throw jobs away
  std::uint32_t replicas = 0;
};

struct link {
  std::unique_ptr<connection> at;
  address server;
  promises says;
};

// Asks the sentinels, if there are any; connects, authenticates, selects the database, and refuses a replica.
// storage_unavailable, or invalid_argument when no waiting will help (an old version).
result<link> open_link(const location& where, steady_point deadline, const stop_signal& stop);

// Only connected and logged in: for listening.
result<std::unique_ptr<connection>> open_plain(const location& where, steady_point deadline, const stop_signal& stop);

// What INFO and CONFIG GET say of appendfsync and no-appendfsync-on-rewrite; empty when they may not be asked for.
promises read_promises(std::string_view info, std::string_view fsync, std::string_view not_while_saving = {});

}  // namespace sluice::storage::redis
