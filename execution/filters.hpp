// Which filters have a say about a job.
#pragma once

#include <sluice/filter.hpp>

namespace sluice::execution {

inline bool concerns(const filter_entry& entry, const job& about) {
  return entry.only_for.empty() || entry.only_for == about.type;
}

}  // namespace sluice::execution
