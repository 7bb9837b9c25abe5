// What came of a run, from the store's own record of its jobs and what the provider counted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sluice/client.hpp>

#include "samples/cache_refresh_bench/options.hpp"
#include "samples/cache_refresh_bench/schedules.hpp"
#include "samples/provider/provider.hpp"

namespace sample {

struct job_tally {
  std::uint64_t runs = 0, failures = 0;
};

struct run_record {
  std::map<std::string, job_tally> jobs;                 // by type
  std::map<std::string, std::uint64_t> runs_of_servers;  // of every process that worked
  std::vector<double> light_waits_ms;                    // start - due of every light job that was started, sorted
  std::uint64_t fired = 0;                               // occurrences for which there is a job
  std::uint64_t missed = 0;                              // for which there is none
  std::uint64_t doubled = 0;                             // jobs of an occurrence that had one
  std::vector<double> late_ms;                           // from each occurrence until its job was enqueued, sorted
  std::uint32_t max_at_once = 0;                         // occurrences in one second of the backend's minute
  std::uint64_t enqueued = 0;                            // jobs: fired, and triggered by a server at its start
  std::uint64_t retries = 0;                             // runs beyond a job's first
  std::uint64_t succeeded = 0;                           // jobs
  std::uint64_t unfinished = 0;                          // jobs that have not come to their end
};

// The store has the runs of all processes, so it does not matter which of them asks.
sluice::result<run_record> record_of(sluice::client& client, const run_plan& plan,
                                     const std::vector<sluice::recurring>& schedules);

// The value that a part `q` of the sorted values does not exceed; 0 of none.
double quantile(const std::vector<double>& sorted, double q);

struct run_summary {
  run_record record;
  provider_counts asked;
  minute_peaks peaks;
  std::optional<std::uint64_t> permits;  // of the semaphore over the provider, if there is one
};

std::string as_json(const run_options& options, const run_summary& run);
std::string as_text(const run_options& options, const run_summary& run);
// Runs in several ways side by side.
std::string as_table(const std::vector<std::pair<run_options, run_summary>>& runs);

}  // namespace sample
