// The jobs. Each fetches one thing from the provider and puts it into the cache, under the name of the job's type.
// Which types there are, what each fetches and when is in the configuration, under `recurring`.
#pragma once

#include <string>
#include <vector>

#include <sluice/handler.hpp>
#include <sluice/json.hpp>
#include <sluice/recurring.hpp>

#include "cache_refresh/cache.hpp"

namespace sample {

// What a job is told.
struct refresh {
  std::string resource;  // where the provider has it: "/documents/country", "/catalogues/casino"
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(refresh, resource)

// What runs the types of these schedules. `entries` must outlive the server that has it.
sluice::handler_registry refresh_handlers(const std::vector<sluice::recurring>& schedules, const std::string& provider,
                                          cache& entries);

}  // namespace sample
