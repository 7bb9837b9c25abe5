// What is told while the program runs and at its end, from what the store says of its jobs.
#pragma once

#include <string>

#include <sluice/client.hpp>

#include "cache_refresh/cache.hpp"

namespace sample {

// One line: how many jobs wait, run and have ended, of all queues. The store still counts those of earlier runs.
sluice::result<std::string> progress_line(sluice::client& client, cache& entries);

// A line for each queue: how many jobs of it have ended since then, how long they waited and took; then the cache, the
// provider, and what is left.
sluice::result<std::string> final_report(sluice::client& client, cache& entries, const std::string& provider,
                                         sluice::time_point since);

}  // namespace sample
