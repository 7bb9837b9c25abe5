// How what a server's options define comes into the store: throttlers, and schedules of recurring jobs.
#pragma once

#include <sluice/options.hpp>

#include "scheduler/schedules.hpp"

namespace sluice::execution {

// Tells the log what it changed. The first refusal of the store ends it.
result<void> store_definitions(const server_options& options, const scheduler::asker& ask);
// Once that is done: not_found names the throttlers that types name and neither the options nor the store defines.
result<void> check_throttlers(const server_options& options, const scheduler::asker& ask);

}  // namespace sluice::execution
