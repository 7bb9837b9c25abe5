// What came of a run, from the store's own record of its jobs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sluice/client.hpp>

#include "cache_refresh/options.hpp"
#include "cache_refresh/provider.hpp"
#include "cache_refresh/timetable.hpp"

namespace sample {

struct job_tally {
  std::uint64_t runs = 0, failures = 0;
};

struct run_record {
  std::map<std::string, job_tally> jobs;
  std::map<std::string, std::uint64_t> runs_of_servers;  // of every process that worked
  std::vector<double> light_waits_ms;                    // start - due of every light job that was started, sorted
  std::uint64_t retries = 0;                             // runs beyond a job's first
  std::uint64_t enqueued = 0;                            // jobs that the timetable was told are stored
  std::uint64_t succeeded = 0;                           // jobs
  std::uint64_t unfinished = 0;                          // jobs that have not come to their end
};

// The store has the runs of all processes, so it does not matter which of them asks.
sluice::result<run_record> record_of(sluice::client& client, const run_plan& plan);

// The value that a part `q` of the sorted values does not exceed; 0 of none.
double quantile(const std::vector<double>& sorted, double q);

std::string as_json(const run_options& options, const run_record& record, const provider_counts& asked);
std::string as_text(const run_options& options, const run_record& record, const provider_counts& asked);

}  // namespace sample
