// The table of jobs, as a backend's settings would list it: what is refreshed, and every how many minutes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sample {

struct job_kind {
  std::string name;      // the job type, and the name of its cache entry
  bool heavy = false;    // reads a catalogue of 40 pages instead of one document
  std::uint32_t every;   // minutes
  std::string resource;  // where the provider has it
};

const std::vector<job_kind>& job_kinds();

// nullptr: no such job.
const job_kind* find_job_kind(const std::string& name);

}  // namespace sample
