#include "actors/throttle_plan.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace sluice::actors {
namespace {

result<void> add(throttle_plan& plan, const std::string& text) {
  const auto ref = parse_throttle_ref(text);
  if (!ref) return ref.error();
  switch (ref->kind) {
    case throttler_kind::mutex: {
      auto name = parse_args_template(ref->name);
      if (!name) return name.error();
      plan.mutexes.push_back(std::move(*name));
      break;
    }
    case throttler_kind::semaphore: plan.permits.push_back(resource_of(ref->kind, ref->name)); break;
    case throttler_kind::fixed_window:
    case throttler_kind::sliding_window:
    case throttler_kind::dynamic_window: plan.windows.push_back(resource_of(ref->kind, ref->name)); break;
    case throttler_kind::custom: plan.custom.push_back(resource_of(ref->kind, ref->name)); break;
  }
  return {};
}

}  // namespace

result<std::vector<std::string>> throttle_plan::permits_for(const job& about) const {
  auto all = permits;
  for (const auto& name : mutexes) {
    const auto filled = name.fill(about.args);
    if (!filled) return filled.error();
    all.push_back(resource_of(throttler_kind::mutex, *filled));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

result<throttle_plans> make_throttle_plans(const std::map<std::string, type_options>& jobs) {
  throttle_plans plans;
  for (const auto& [type, options] : jobs) {
    if (options.throttle.empty()) continue;
    auto& plan = plans[type];
    plan.otherwise = options.when_throttled;
    plan.delay = options.throttle_delay;
    plan.strict = options.strict;
    for (const auto& text : options.throttle)
      if (const auto added = add(plan, text); !added)
        return error{added.error().code, cat("jobs.", type, ".throttle: ", added.error().message)};
    std::sort(plan.windows.begin(), plan.windows.end());
  }
  return plans;
}

}  // namespace sluice::actors
