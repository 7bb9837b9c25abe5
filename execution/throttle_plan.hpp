// Which throttlers must let in a job of a type, read once from the options. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sluice/job.hpp>
#include <sluice/options.hpp>

#include "core/throttlers.hpp"
#include "storage/store.hpp"

namespace sluice::execution {

struct throttle_plan {
  std::vector<std::string> custom;     // resources, asked first
  std::vector<args_template> mutexes;  // whose names are made of args
  std::vector<std::string> permits;    // the other mutexes, and semaphores
  std::vector<std::string> windows;    // asked last, in the order of names
  throttle_action otherwise = throttle_action::wait;
  duration delay{0};
  bool strict = false;

  // All that its permits are, in the order of names; the error says which of the args does not fit.
  result<std::vector<std::string>> permits_for(const job& about) const;
  // True when `admitted`, which a claim told of a job, is all that it needs: nobody need be asked. A strict job always
  // is: what was reserved for it becomes its own when it takes it.
  bool is_met_by(const job& about, const std::vector<std::string>& admitted) const;
};

// What is still to be asked before a job of such a plan may run: custom throttlers one by one, then all of its permits
// in one step (none: they need not be), then windows one by one. `admitted`: what it has already.
struct steps_left {
  std::vector<std::string> custom;
  std::vector<std::string> permits;
  std::vector<std::string> windows;
};
// `is_asked_again`: custom throttlers that are, whatever it has. The error says which of the args does not fit.
result<steps_left> find_steps_left(const throttle_plan& plan, const job& about,
                                   const std::vector<std::string>& admitted,
                                   const std::function<bool(const std::string&)>& is_asked_again);

using throttle_plans = std::map<std::string, throttle_plan, std::less<>>;

// What claims can take themselves: relaxed permits that are the same for all jobs of a type, where no custom throttler
// is asked before.
storage::permits_by_type permits_of_claims(const throttle_plans& plans);

// Of these, the types whose jobs may share a permit: they wait for that one alone.
std::vector<std::string> chaining_types(const throttle_plans& plans, const storage::permits_by_type& of_claims);

// As a server tells it of itself.
std::vector<type_throttlers> throttled_types(const throttle_plans& plans);

// Of the types that name a throttler, or may not overlap. invalid_argument says which type's words are wrong.
result<throttle_plans> make_throttle_plans(const std::map<std::string, type_options>& jobs);

}  // namespace sluice::execution
