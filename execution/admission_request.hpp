// What a dispatcher asks the gate about claimed runs, and what it is told.
#pragma once

#include <sluice/throttling.hpp>

#include "execution/claimed_run.hpp"

namespace sluice::execution {

// A run that was claimed and may begin only when its throttlers let it in, with what it has of them already.
struct admission_request {
  run_ptr run;
  std::vector<std::string> admitted;
};

// deferred: its type's policy is not to wait, and it may be let in `after` this. undecided: it is scheduled again
// whatever its type's policy, `after` this or later.
struct admission_verdict {
  run_ptr run;
  admission what = admission::granted;
  duration after{0};
  std::string why{};
  std::string resource{};  // deferred: of which throttler
};

}  // namespace sluice::execution
