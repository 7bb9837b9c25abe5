// What an id tells that `make_job_id` (core/text.hpp) has made.
#pragma once

#include <cstdint>
#include <optional>

#include <sluice/types.hpp>

namespace sluice {

// The millisecond since 1970 in which it was made; of an id of another form nothing.
std::optional<std::int64_t> milliseconds_of(const job_id& id);

}  // namespace sluice
