// Which throttlers must let in a job of a type, read once from the options. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sluice/job.hpp>
#include <sluice/options.hpp>

#include "core/throttlers.hpp"

namespace sluice::actors {

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
};

using throttle_plans = std::map<std::string, throttle_plan, std::less<>>;

// Of the types that name a throttler. invalid_argument says which type's words are wrong.
result<throttle_plans> make_throttle_plans(const std::map<std::string, type_options>& jobs);

}  // namespace sluice::actors
