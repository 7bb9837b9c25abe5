// What the jobs do: fetch, parse, write the cache entry.
#pragma once

#include <string>

#include <sluice/json.hpp>
#include <sluice/server.hpp>

#include "cache_refresh/cache.hpp"

namespace sample {

struct refresh {
  std::string resource;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(refresh, resource)

// Registers all of job_kinds(). `entries` must outlive the server.
void handle_all(sluice::server& server, const std::string& provider_url, const cache& entries);

}  // namespace sample
