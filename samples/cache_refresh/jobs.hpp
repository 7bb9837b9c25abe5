// What the jobs are told. Their types, and when each runs, are in the configuration, under `recurring`.
#pragma once

#include <string>

#include <sluice/json.hpp>

namespace sample {

// The type of the job is the name of the cache entry.
struct refresh {
  std::string resource;  // where the provider has it
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(refresh, resource)

// Whether it reads a catalogue of 40 pages instead of one document.
bool is_heavy(const refresh& what);
bool is_heavy(const std::string& args);  // of a job, or of a schedule

}  // namespace sample
