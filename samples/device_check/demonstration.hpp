// All in one process: a backend, devices that behave and that do not, pollers and workers; and what came of it.
#pragma once

#include "device_check/options.hpp"

namespace sample {

// The exit code: 0 when each promise was kept, 1 also when a signal came before that was known.
int demonstrate(const run_options& options);

}  // namespace sample
