// What a server can run, and under which rules. Made once at its start; immutable, so shared by all threads.
#pragma once

#include <memory>
#include <set>

#include <sluice/handler.hpp>
#include <sluice/options.hpp>

#include "core/clock.hpp"
#include "core/pipeline.hpp"
#include "execution/limiter_rule.hpp"
#include "execution/thread_cache.hpp"
#include "execution/thread_shares.hpp"
#include "execution/throttle_plan.hpp"
#include "storage/store.hpp"

namespace sluice::execution {

using type_names = std::set<std::string, std::less<>>;

struct execution_config {
  handler_registry handlers;
  filter_list filters;                                      // in order, retry among them
  enqueue_pipeline pipeline{{}, {}};                        // of jobs that ends carry
  type_names by_actor;                                      // types that an actor of the host runs
  std::shared_ptr<const type_names> no_prefetch;            // types never claimed ahead
  throttle_plans throttles;                                 // of the types that name a throttler
  std::shared_ptr<const storage::permits_by_type> permits;  // that claims take
  custom_limiters limiters;                                 // custom ones, by resource
  std::shared_ptr<thread_cache> threads;                    // which run the handlers of all queues
  std::shared_ptr<thread_shares> shares;                    // of these, by queue
  // By which runs are measured: another than the system's only where no thread waits for them.
  std::shared_ptr<const clock> time = std::make_shared<system_clock>();

  bool has_user_filters() const { return filters.size() > 1; }
  // Whether an actor of the host decides, and no limiter.
  bool is_custom_actor(std::string_view resource) const {
    return resource.starts_with("custom:") && !limiters.contains(resource);
  }
};

// The order of the retry filter among the user's.
inline constexpr int retry_order = 20;

std::shared_ptr<execution_config> make_execution_config(const handler_registry& handlers, filter_list filters,
                                                        const server_options& options, throttle_plans plans = {});

// What the configuration says of a type; null when nothing.
const type_options* type_options_of(const server_options& options, const std::string& type);

// How long one run of this job may take, if anybody said so.
std::optional<duration> timeout_of(const server_options& options, const job& about);

}  // namespace sluice::execution
