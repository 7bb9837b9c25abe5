// What a definition of a throttler may say.
#pragma once

#include <sluice/error.hpp>
#include <sluice/throttling.hpp>

namespace sluice::throttling {

// invalid_argument names the first field that is out of its range, missing, or not of this kind, and what to do.
result<void> check(const throttler& definition);

}  // namespace sluice::throttling
