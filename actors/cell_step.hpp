// One step of a throttler whose state is a cell: who is let in, who waits and who is woken. Pure.
#pragma once

#include <span>

#include <sluice/throttling.hpp>

#include "storage/store.hpp"

namespace sluice::actors {

// A start that wants in.
struct cell_ask {
  std::string resource;  // the line it would wait in: the cell, or "CELL/KEY"
  storage::start_key start;
  bool may_park = true;
};

struct cell_verdict {
  admission what = admission::granted;  // or parked, or later
  duration after{0};                    // later: when to ask again
};

struct cell_step {
  storage::swap_request swap;
  std::vector<cell_verdict> each;  // of the asks; they hold when the swap is carried out
};

// More would make one step too long; those beyond are looked at in the next.
inline constexpr std::size_t asks_in_a_step = 100;
inline constexpr std::uint64_t wakes_in_a_step = 1'000;

// Whoever waits goes before whoever asks now.
cell_step plan_step(const limiter& by, const std::string& cell, const storage::cell_view& seen, time_point now,
                    std::span<const cell_ask> asks);

// The key of a line: what stands behind the cell's name.
std::string key_of(const std::string& cell, const std::string& resource);

}  // namespace sluice::actors
