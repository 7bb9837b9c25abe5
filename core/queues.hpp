// How a server's options apply to a queue by its name. One meaning for configuration and server.
#pragma once

#include <sluice/options.hpp>

namespace sluice {

// The options of a queue: those of its own name, else of the matching pattern with the most literal
// characters (of equals, the first by name); null when this server does not serve it.
const queue_options* options_for(const std::map<std::string, queue_options>& queues, const std::string& queue);

// What stands for `workers: 0`: special_queue_workers for a queue named *-queue, else the processors that this process
// may use. Still 0 for a pattern that ends in *: the name of a queue that matches it tells.
std::uint32_t default_workers(const std::string& queue, std::uint32_t special_queue_workers);

// What all queues without a pattern may run at once; and what stands for `threads: 0`: that, and 256 at least.
std::uint64_t workers_in_all(const server_options& options);
std::uint32_t threads_of(const server_options& options);

// Where jobs of a type go that name no queue; empty: these settings say nothing of it.
queue_name queue_of_type(const std::map<std::string, type_options>& types, const job_type& type);
// Where the jobs of a schedule go.
queue_name queue_of_schedule(const server_options& options, const recurring& schedule);

}  // namespace sluice
