// Why a job does not run, made of what a store says of it. Pure.
#pragma once

#include <sluice/explanation.hpp>

#include "storage/store.hpp"

namespace sluice::throttling {

// Of a job that was found; `now` by the store's clock. `servers`: as far as they are known.
explanation explain(const storage::explain_answer& seen, time_point now, const std::vector<server_info>& servers = {});

// Jobs of a type wait for a server that has a handler of it: what ends the sentence that says so. None: one of those
// that live and serve the queue (empty: any) has one, or not all of them tell.
std::optional<std::string> lacks_handler(const job_type& type, const queue_name& queue,
                                         const std::vector<server_info>& living);

}  // namespace sluice::throttling
