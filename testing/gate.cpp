#include "testing/gate.hpp"

#include <stdexcept>

#include "core/text.hpp"
#include "core/unresolved.hpp"
#include "execution/limiter_rule.hpp"

namespace sluice::testing {
namespace {

gate::verdict waits() { return {.is_let_in = false}; }

gate::verdict ends(execution::elected_end how) { return {.is_let_in = false, .end = std::move(how)}; }

gate::verdict undefined(const execution::throttle_plan& plan, const job& about, const std::string& resource) {
  return ends(execution::end_without_run(plan, about, {true, execution::postpone_for, not_defined(resource), {}}));
}

gate::verdict deferred(const execution::throttle_plan& plan, const job& about, duration after,
                       const std::string& resource) {
  return ends(
      execution::end_without_run(plan, about, {false, after, cat("deferred by ", printable(resource, 200)), resource}));
}

}  // namespace

gate::verdict gate::admit(const job& about, std::uint32_t failures, const std::vector<std::string>& admitted) const {
  const auto found = config_->throttles.find(about.type.value);
  if (found == config_->throttles.end()) return {};
  const auto& plan = found->second;
  auto left = execution::find_steps_left(plan, about, admitted, [](const std::string&) { return false; });
  if (!left) return ends(execution::end_of_rejected(*config_, about, failures, left.error().message));
  for (const auto& custom : plan.custom)
    if (!config_->limiters.contains(custom))
      throw std::runtime_error(cat("type ", about.type.value, " names throttler ", custom,
                                   ", and no limiter of that name was given; a world asks no actors"));
  for (const auto& custom : left->custom)
    if (auto said = take_slot(plan, about, failures, custom); !said.is_let_in) return said;
  if (!left->permits.empty())
    if (auto said = take_permits(plan, about, std::move(left->permits)); !said.is_let_in) return said;
  for (const auto& window : left->windows)
    if (auto said = take_slot(plan, about, failures, window); !said.is_let_in) return said;
  return {};
}

gate::verdict gate::take_permits(const execution::throttle_plan& plan, const job& about,
                                 std::vector<std::string> permits) const {
  storage::acquire_permits_request take;
  take.runs.push_back({.key = {about.id, about.fence},
                       .permits = std::move(permits),
                       .strict = plan.strict,
                       .park = plan.otherwise == throttle_action::wait});
  const auto said = asked<storage::acquire_permits_answer>(std::move(take)).each.at(0);
  switch (said.what) {
    case admission::granted: return {};
    case admission::undecided: return undefined(plan, about, said.resource);
    case admission::deferred: return deferred(plan, about, duration(0), said.resource);
    default: return waits();
  }
}

gate::verdict gate::take_slot(const execution::throttle_plan& plan, const job& about, std::uint32_t failures,
                              const std::string& limiter) const {
  for (;;) {
    const auto seen = asked<storage::read_limiter_answer>(storage::read_limiter_request{limiter}).limiter;
    execution::limiter_rule rule(limiter);
    rule.read(seen.definition, config_->limiters);
    if (!rule.is_defined()) return undefined(plan, about, limiter);
    const auto line = rule.line_of(about);
    if (!line) return ends(execution::end_of_rejected(*config_, about, failures, line.error().message));
    const execution::limiter_ask ask{*line, {about.id, about.fence}, plan.otherwise == throttle_action::wait};
    const auto planned = rule.plan(seen, seen.now, {&ask, 1});
    if (!asked<storage::update_limiter_answer>(planned.update).updated) continue;  // the state has changed meanwhile
    const auto& said = planned.each.at(0);
    if (said.what == admission::granted) return {};
    return said.what == admission::deferred ? deferred(plan, about, said.after, limiter) : waits();
  }
}

void gate::look_at_lines(const std::string& limiter) const {
  for (;;) {
    const auto seen = asked<storage::read_limiter_answer>(storage::read_limiter_request{limiter}).limiter;
    execution::limiter_rule rule(limiter);
    rule.read(seen.definition, config_->limiters);
    const bool decides = rule.is_defined() && !seen.lines.empty();
    auto update = decides ? rule.plan(seen, seen.now, {}).update : execution::no_next_check(limiter, seen);
    if (asked<storage::update_limiter_answer>(std::move(update)).updated) return;
  }
}

}  // namespace sluice::testing
