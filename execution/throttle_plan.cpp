#include "execution/throttle_plan.hpp"

#include <algorithm>
#include <iterator>

#include "core/text.hpp"

namespace sluice::execution {
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

bool throttle_plan::is_met_by(const job& about, const std::vector<std::string>& admitted) const {
  if (strict || !custom.empty() || !windows.empty()) return false;
  const auto has = [&](const std::string& resource) {
    return std::find(admitted.begin(), admitted.end(), resource) != admitted.end();
  };
  if (mutexes.empty()) return std::all_of(permits.begin(), permits.end(), has);
  const auto needed = permits_for(about);
  return needed && std::all_of(needed->begin(), needed->end(), has);
}

result<steps_left> find_steps_left(const throttle_plan& plan, const job& about,
                                   const std::vector<std::string>& admitted,
                                   const std::function<bool(const std::string&)>& is_asked_again) {
  steps_left left;
  const auto needed = plan.permits_for(about);
  if (!needed) return needed.error();
  const auto has = [&](const std::string& resource) {
    return std::find(admitted.begin(), admitted.end(), resource) != admitted.end();
  };
  for (const auto& custom : plan.custom)
    if (is_asked_again(custom) || !has(custom)) left.custom.push_back(custom);
  // What was reserved for a strict job becomes its own when it is taken.
  const bool takes = plan.strict && !needed->empty();
  if (takes || !std::all_of(needed->begin(), needed->end(), has)) left.permits = *needed;
  for (const auto& window : plan.windows)
    if (std::none_of(admitted.begin(), admitted.end(),
                     [&](const std::string& slot) { return slot == window || slot.starts_with(window + "/"); }))
      left.windows.push_back(window);
  return left;
}

storage::permits_by_type permits_of_claims(const throttle_plans& plans) {
  storage::permits_by_type all;
  const job any;
  for (const auto& [type, plan] : plans) {
    const bool by_args = std::any_of(plan.mutexes.begin(), plan.mutexes.end(),
                                     [](const args_template& name) { return name.has_placeholders(); });
    if (plan.strict || by_args || !plan.custom.empty()) continue;
    const auto needed = plan.permits_for(any);
    if (needed && !needed->empty()) all[type] = {*needed, plan.otherwise == throttle_action::wait};
  }
  return all;
}

std::vector<std::string> chaining_types(const throttle_plans& plans, const storage::permits_by_type& of_claims) {
  std::vector<std::string> all;
  for (const auto& [type, needed] : of_claims)
    if (needed.park && needed.resources.size() == 1 && plans.at(type).windows.empty()) all.push_back(type);
  return all;
}

namespace {

// As a reference to a throttler has them.
std::string doubled_braces(const std::string& text) {
  std::string all;
  for (const char c : text)
    all.append(c == '{' || c == '}' ? 2 : 1, c);
  return all;
}

}  // namespace

std::vector<type_throttlers> throttled_types(const throttle_plans& plans) {
  constexpr std::size_t most_told = 200;
  std::vector<type_throttlers> all;
  for (const auto& [type, plan] : plans) {
    if (all.size() == most_told) break;
    auto& its = all.emplace_back(type_throttlers{job_type(type)}).throttlers;
    for (const auto& mutex : plan.mutexes) {
      auto& name = its.emplace_back(resource_of(throttler_kind::mutex, ""));
      for (const auto& piece : mutex.pieces())
        name += piece.path.empty() ? doubled_braces(lowered(piece.text)) : cat('{', piece.text, '}');
    }
    for (const auto* names : {&plan.custom, &plan.permits, &plan.windows})
      std::transform(names->begin(), names->end(), std::back_inserter(its), doubled_braces);
  }
  return all;
}

result<throttle_plans> make_throttle_plans(const std::map<std::string, type_options>& jobs) {
  throttle_plans plans;
  for (const auto& [type, options] : jobs) {
    if (options.throttle.empty() && !options.without_overlap) continue;
    auto& plan = plans[type];
    plan.otherwise = options.when_throttled;
    plan.delay = options.throttle_delay;
    plan.strict = options.strict;
    for (const auto& text : options.throttle)
      if (const auto added = add(plan, text); !added)
        return error{added.error().code, cat("jobs.", type, ".throttle: ", added.error().message)};
    if (options.without_overlap) {
      auto name = overlap_template(type, *options.without_overlap);
      if (!name) return error{name.error().code, cat("jobs.", type, ".without_overlap: ", name.error().message)};
      plan.mutexes.push_back(std::move(*name));
    }
    std::sort(plan.windows.begin(), plan.windows.end());
  }
  return plans;
}

}  // namespace sluice::execution
