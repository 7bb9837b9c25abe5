// How a throttler stands, made of what a store says. Pure.
#pragma once

#include <sluice/throttler_status.hpp>

#include "storage/store.hpp"

namespace sluice::throttling {

// Whether what it counts stands in a limiter of the store.
bool is_limiter(throttler_kind kind);

// The throttler whose line this is: the resource itself, without the key of a dynamic window.
std::string throttler_of(const storage::throttler_row& row);

// `limiter` of windows: the throttler's, as it was read. A row of one key is that key's alone.
throttler_status status_of(const storage::throttler_row& row, const storage::limiter_record& limiter);

// What waits in the line of a key waits for the throttler.
void add_line(throttler_status& status, const storage::throttler_row& line);

}  // namespace sluice::throttling
