// What a pool holds: every run from its claim until the store has its end, and those of them that wait for a worker.
// Not thread-safe: the pool's lock guards it.
#pragma once

#include <deque>
#include <unordered_map>

#include "execution/run_chains.hpp"

namespace sluice::execution {

struct run_table {
  std::unordered_map<sluice::fence, run_ptr> held;
  std::deque<run_ptr> queue;
  run_chains chains;
  std::uint32_t running = 0;
  std::uint32_t ending = 0;     // their handlers are over, and the filters have their say about the ends
  std::uint32_t at_actors = 0;  // of those that run
  std::uint32_t awaiting_admission = 0;
  std::uint32_t open_claims = 0;  // their answers are still to come
  steady_point used{};            // when a run was let go or a claim was refused last
  bool draining = false;          // nothing begins any more
  bool progress_waits = false;    // to be taken
};

// How long handlers ran of late.
class handler_times {
public:
  // A new measure weighs an eighth, but one slow handler is believed at once.
  void note(duration ran) {
    const auto us = static_cast<double>(ran.count());
    typical_us_ = us > 8 * typical_us_ + 1'000 ? us : typical_us_ + (us - typical_us_) / 8;
    measured_ = true;
  }
  duration typical() const { return duration(static_cast<std::int64_t>(std::max(typical_us_, 1.0))); }
  bool measured() const { return measured_; }

private:
  double typical_us_ = 0;
  bool measured_ = false;
};

}  // namespace sluice::execution
