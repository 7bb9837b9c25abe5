// Runs the handler of a job inside its filters.
#pragma once

#include "execution/execution_config.hpp"

namespace sluice::execution {

// `reason` is why `stop` is set. Never throws but when the thread itself is being ended (pthread_exit).
outcome run_handler(const execution_config& config, const job& about, const std::stop_token& stop,
                    job_context::progress_sink progress, const std::atomic<stop_reason>* reason = nullptr);

}  // namespace sluice::execution
