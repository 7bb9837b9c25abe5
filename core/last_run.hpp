// The start of a job that ended last, as its history has it: rows of what people did to it have no fence.
#pragma once

#include <algorithm>

#include <sluice/job.hpp>

namespace sluice {

// Null when there is none.
inline const run_record* last_run(const job& j) {
  const auto found =
      std::find_if(j.history.rbegin(), j.history.rend(), [](const run_record& s) { return s.fence.value != 0; });
  return found == j.history.rend() ? nullptr : &*found;
}

}  // namespace sluice
