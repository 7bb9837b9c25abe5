// What the jobs do: fetch, parse, write the cache entry.
#pragma once

#include <string>
#include <vector>

#include <sluice/server.hpp>

#include "cache_refresh/cache.hpp"

namespace sample {

// Registers the type of each of these schedules. `entries` must outlive the server.
void handle_all(sluice::server& server, const std::vector<sluice::recurring>& schedules,
                const std::string& provider_url, const cache& entries);

}  // namespace sample
