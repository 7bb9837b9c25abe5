#include "execution/execution_config.hpp"

#include "core/queues.hpp"
#include "execution/election.hpp"

namespace sluice::execution {

const type_options* type_options_of(const server_options& options, const std::string& type) {
  const auto found = options.jobs.find(type);
  return found == options.jobs.end() ? nullptr : &found->second;
}

std::shared_ptr<execution_config> make_execution_config(const handler_registry& handlers, filter_list filters,
                                                        const server_options& options, throttle_plans plans) {
  auto made = std::make_shared<execution_config>();
  auto no_prefetch = std::make_shared<type_names>();
  for (const auto& [type, entry] : handlers.entries()) {
    if (entry.route) made->by_actor.insert(type);
    if (!entry.options.prefetch) no_prefetch->insert(type);
  }
  auto permits = std::make_shared<const storage::permits_by_type>(permits_of_claims(plans));
  // A job that waits in a pool keeps its permits from others: only the store knows how scarce they are.
  for (const auto& [type, plan] : plans)
    if (!permits->contains(type) && !(plan.permits.empty() && plan.mutexes.empty())) no_prefetch->insert(type);
  made->pipeline = enqueue_pipeline(filters, options.jobs, options.queues);
  filters.push_back({make_retry_filter(options), retry_order, {}});
  made->handlers = handlers;
  for (const auto& [name, by] : handlers.limiters())
    made->limiters[resource_of(throttler_kind::custom, name)] = by;
  made->filters = in_order(std::move(filters));
  made->no_prefetch = std::move(no_prefetch);
  made->throttles = std::move(plans);
  made->permits = std::move(permits);
  made->threads = std::make_shared<thread_cache>(threads_of(options));
  made->shares = std::make_shared<thread_shares>(threads_of(options));
  return made;
}

std::optional<duration> timeout_of(const server_options& options, const job& about) {
  if (about.timeout) return about.timeout;
  if (const auto* type = type_options_of(options, about.type.value); type && type->timeout) return type->timeout;
  if (const auto* queue = options_for(options.queues, about.queue.value); queue && queue->timeout)
    return queue->timeout;
  return options.timeout;
}

}  // namespace sluice::execution
