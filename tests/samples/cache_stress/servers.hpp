// Several processes with the two-level cache, readers in all of them that read at the instant of expiry, and
// the judgement of what the provider was asked and the readers were told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "samples/cache_stress/readers.hpp"

namespace sample {

struct stress_options {
  std::uint32_t servers = 3;
  std::uint32_t readers = 1000;  // of all of them
  std::uint32_t seconds = 10;
  std::optional<std::string> store{};  // of the locks; none: a file
  bool unlocked = false;               // the lock of the cache holds for one process only
};

// How often a resource was loaded for each time that it was missing or had expired, from when the provider was asked
// for it. A load lasts for the state's time to live at least; another that comes sooner was one too many.
std::vector<std::uint32_t> loads_per_expiry(std::vector<micros> asked, sluice::duration state);

// Runs the servers, prints the report, and answers the exit code: 1 when a promise was broken. To be called before the
// first thread, since it forks. Throws std::runtime_error when a server cannot work.
int run_servers(const stress_options& options);

}  // namespace sample
