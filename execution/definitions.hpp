// How what a server's options define comes into the store: throttlers, and schedules of recurring jobs.
#pragma once

#include <sluice/options.hpp>

#include "storage/async_store.hpp"

namespace sluice::execution {

// Tells the log what it changed. The first refusal of the store ends it.
result<void> store_definitions(const server_options& options, const storage::asker& ask);

}  // namespace sluice::execution
