// How the outcome of a run becomes what is stored of it.
#pragma once

#include "execution/admission_request.hpp"
#include "execution/execution_config.hpp"

namespace sluice::execution {

struct elected_end {
  storage::settlement settlement;
  outcome elected;  // what the filters' `applied` are told
};

// The filters' say about an outcome, retry's among them, and what is stored then. Never throws.
// `failures`: failed runs before this one.
elected_end elect(const execution_config& config, const job& about, std::uint32_t failures, outcome candidate,
                  duration ran);

// Makes the retry filter, which turns a failed run into another try or into the end that the narrowest policy names.
std::shared_ptr<filter> make_retry_filter(const server_options& options);

// What the store makes of the end of a run that was cancelled.
void end_as_cancelled(elected_end& made);

// The end of a run whose handler did not come to its end: no filter has a say.
storage::settlement given_back(const storage::run_key& run, const std::string& why);

inline constexpr duration postpone_for = std::chrono::seconds(15);  // when nobody can say whether it may run

// The end of a run that its throttlers did not let in. A verdict that is deferred or undecided: it is scheduled again
// or deleted, as its type's plan says. rejected: it has failed, and its filters have a say.
elected_end end_without_run(const execution_config& config, const admission_verdict& verdict);

// What the filters are told once the end is stored.
void notify_applied(const execution_config& config, const job& about, const outcome& stored);

}  // namespace sluice::execution
