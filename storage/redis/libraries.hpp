// The libraries of rules that a Redis has: they belong to all of it, so a version of Sluice deletes none by itself.
#pragma once

#include <string>
#include <vector>

#include "storage/machine/library.hpp"
#include "storage/redis/connection.hpp"

namespace sluice::storage::redis {

// As what Redis has the library, loaded if it is not there: see machine::library::for_redis. Not there, and not to be
// loaded: storage_unavailable, or storage_busy.
result<std::string> find_library(connection& c, const machine::library& known, steady_point deadline);

// Those of other versions of Sluice, by name.
result<std::vector<std::string>> other_libraries(connection& c, const machine::library& known, steady_point deadline);
// Who still uses it loads it again at his next call, where he may and Redis has room. Nothing when it is not there.
result<void> remove_library(connection& c, const std::string& name, steady_point deadline);

}  // namespace sluice::storage::redis
