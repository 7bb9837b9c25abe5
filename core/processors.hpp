// How many processors this process may use: a container, a service or `taskset` mostly has fewer than its machine.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

// Those that it may run on (sched_getaffinity), and no more than the CPU quotas of its cgroup and of those above it
// allow, rounded up; at least 1. `root` is the folder in which /proc and /sys are.
std::uint32_t usable_processors(const std::string& root = {});

}  // namespace sluice
