// The one table of legal transitions; docs/job_lifecycle.md draws it and a test compares the two.
#pragma once

#include <span>

#include <sluice/job.hpp>

namespace sluice {

struct transition {
  job_state from;
  job_state to;
  std::string_view verb;
};

std::span<const transition> transitions() noexcept;
bool may_become(job_state from, job_state to) noexcept;
// The states that a new job may be born in.
bool may_begin_in(job_state state) noexcept;

// The job is to run again.
bool goes_on(run_end end) noexcept;

}  // namespace sluice
