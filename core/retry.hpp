// Whether and when a failed run is tried again: arithmetic over policies, no clock, no state.
#pragma once

#include <initializer_list>

#include <sluice/retry.hpp>

namespace sluice {

// Field by field the first policy that says something wins; what nobody says stays empty.
retry_policy narrowest(std::initializer_list<const retry_policy*> from_narrow_to_wide);

struct retry_decision {
  bool again = false;
  duration delay{0};
  when_exhausted otherwise = when_exhausted::fail;
  std::uint32_t attempts = 0;  // retries allowed in all
};

// After the `failures`-th failed run (1 for the first). `roll` is a random number in [0, 1).
retry_decision decide_retry(const retry_policy& policy, std::uint32_t failures, double roll);

}  // namespace sluice
