#include "testing/gate.hpp"

#include <stdexcept>

#include "core/text.hpp"
#include "core/unresolved.hpp"

namespace sluice::testing {

execution::admission_verdict gate::admit(const execution::admission_request& one) {
  const auto& type = one.run->about.type.value;
  if (const auto plan = config_->throttles.find(type); plan != config_->throttles.end())
    for (const auto& custom : plan->second.custom)
      if (config_->is_custom_actor(custom) && !actors_.contains(custom))
        throw std::runtime_error(cat("type ", type, " names throttler ", custom,
                                     ", for which nothing stands: give the world a function for it, `throttler(\"",
                                     custom.substr(custom.find(':') + 1), "\", …)`, or its handlers a limiter"));
  try {
    return verdict_on(one);
  } catch (...) {  // what was asked is not answered any more
    steps_ = execution::admissions(config_);
    own_.clear();
    throw;
  }
}

execution::admission_verdict gate::verdict_on(const execution::admission_request& one) {
  auto step = steps_.admit({one});
  for (;;) {
    for (const auto& [custom, ends] : step.not_started)
      for (const auto& end : ends)
        tell_ended(custom, end);
    if (!step.verdicts.empty()) return std::move(step.verdicts[0]);
    const auto q = std::move(step.questions.at(0));
    step = steps_.answered(q.number, ask(q));
  }
}

std::vector<throttle_verdict> gate::ask(const execution::throttler_question& q) {
  std::vector<throttle_verdict> each;
  if (q.to_actor) {
    const auto by = actors_.at(q.resource).decide;  // a copy: it may be replaced meanwhile
    for (const auto& run : q.runs)
      each.push_back(by(run));
    return each;
  }
  auto& by = own(q.resource);
  by.acquire(q.runs, q.park_for, [&each](std::vector<throttle_verdict> said) { each = std::move(said); });
  work_off(by);
  return each;
}

// Who has no such custom throttler cannot say who may run.
bool gate::look_at_lines(const std::string& limiter) {
  if (config_->is_custom_actor(limiter) && !actors_.contains(limiter)) return false;
  auto& by = own(limiter);
  by.look_at_lines();
  work_off(by);
  return true;
}

void gate::notify_run_ended(const throttled_end& end) const {
  const auto plan = config_->throttles.find(end.about->type.value);
  if (plan == config_->throttles.end()) return;
  for (const auto& custom : plan->second.custom)
    tell_ended(custom, end);
}

void gate::tell_ended(const std::string& custom, const throttled_end& end) const {
  const auto found = actors_.find(custom);
  if (found == actors_.end() || !found->second.ended) return;
  const auto told = found->second.ended;
  told(end);
}

execution::store_throttler& gate::own(const std::string& resource) {
  auto& found = own_[resource];
  if (!found) found = execution::make_store_throttler(resource, config_, not_defined);
  return *found;
}

void gate::work_off(execution::store_throttler& by) const {
  while (auto asked = by.next_question(time_->now()))
    by.answered(ask_(*asked), time_->now());
}

}  // namespace sluice::testing
