// What a server can run, and how an outcome becomes what is stored. Shared by all threads; immutable.
#pragma once

#include <memory>
#include <set>

#include <sluice/handler.hpp>
#include <sluice/options.hpp>

#include "actors/throttle_plan.hpp"
#include "storage/store.hpp"

namespace sluice::actors {

struct bodies {
  handler_registry handlers;
  filter_list filters;                                                // in order, retry among them
  std::set<std::string, std::less<>> elsewhere;                       // types that an actor of the host runs
  std::shared_ptr<const std::set<std::string, std::less<>>> at_once;  // types never claimed ahead
  throttle_plans throttles;
  std::shared_ptr<const storage::permits_by_type> permits;         // that claims take
  std::map<std::string, std::shared_ptr<const limiter>> limiters;  // custom ones, by resource
};

// The order of the retry filter among the user's.
inline constexpr int retry_order = 20;

// `limiters` are not filled in.
std::shared_ptr<bodies> make_bodies(const handler_registry& handlers, filter_list filters,
                                    const server_options& options, throttle_plans plans = {});

// Runs the handler of `about` inside its filters. Never throws.
outcome run_body(const bodies& b, const job& about, const std::stop_token& stop, job_context::progress_sink progress);

// The filters' word about an outcome, and what is stored then. Never throws.
// `failures`: failed runs before this one. `elected` is what `applied` is told.
struct settled_outcome {
  storage::settlement settlement;
  outcome elected;
};
settled_outcome elect(const bodies& b, const job& about, std::uint32_t failures, outcome candidate, duration ran);

// The end of a start of which no body ran to its end: no filter has a say.
storage::settlement given_back(const storage::start_key& start, const std::string& why);

void tell_applied(const bodies& b, const job& about, const outcome& stored);

// How long one run of this job may take, if anybody said so.
std::optional<duration> timeout_of(const server_options& options, const job& about);

}  // namespace sluice::actors
