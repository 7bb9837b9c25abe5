// What the sample runs: a checksum of every directory below a root, and an archive of the largest.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sluice/job.hpp>

namespace sample {

struct shell_job {
  std::string id;     // made from its place, so that enqueueing again is the same job
  std::string queue;  // "default" or "archive-queue"
  std::vector<std::string> argv;
};

// The light jobs, then the heavy ones. `out` is where archives go.
std::vector<shell_job> plan(const std::filesystem::path& root, const std::filesystem::path& out);

sluice::new_job as_exec(const shell_job& job);

// Runs a job's command here and now; its output. The plain loop is made of these.
std::string run_plainly(const shell_job& job);

}  // namespace sample
