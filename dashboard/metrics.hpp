// The metrics in the text form of Prometheus, 0.0.4. docs/metrics.md lists them. Labels are of closed or capped lists:
// never a job, a server, a key, or what somebody typed.
#pragma once

#include <string>

#include "dashboard/board.hpp"

namespace sluice::web {

inline constexpr std::size_t max_labels = 120;  // queues, throttlers, schedules; others are one, "other"

// `known`: of the store, when it is told of; null when not.
std::string metrics_text(const board& on, const snapshot::known& known, duration scrape);

}  // namespace sluice::web
