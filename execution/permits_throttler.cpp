#include "execution/permits_throttler.hpp"

#include <utility>

namespace sluice::execution {
namespace {

constexpr std::size_t runs_in_a_question = 1'000;  // or few more

}  // namespace

void permits_throttler::acquire(std::vector<throttle_request> runs, std::optional<duration>, verdicts_callback then) {
  waiting_.push_back({std::move(runs), std::move(then)});
}

// What came while the store was at the last question goes into this one.
std::optional<storage::request> permits_throttler::next_question(time_point) {
  if (waiting_.empty()) return std::nullopt;
  storage::acquire_permits_request take;
  while (!waiting_.empty() && take.runs.size() < runs_in_a_question) {
    for (const auto& run : waiting_.front().runs)
      take.runs.push_back(wish_of(run));
    asked_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return take;
}

storage::acquire_permits_request::run permits_throttler::wish_of(const throttle_request& run) const {
  storage::acquire_permits_request::run wish;
  wish.key = {run.about->id, run.about->fence};
  wish.park = run.may_park;
  const auto plan = config_->throttles.find(run.about->type.value);
  if (plan == config_->throttles.end()) return wish;
  wish.strict = plan->second.strict;
  if (auto needed = plan->second.permits_for(*run.about)) wish.permits = std::move(*needed);
  return wish;
}

void permits_throttler::answered(result<storage::answer> told, time_point) {
  storage::acquire_permits_answer none;
  const auto& each = told ? std::get<storage::acquire_permits_answer>(*told).each : none.each;
  std::size_t at = 0;
  for (auto& part : std::exchange(asked_, {})) {
    std::vector<throttle_verdict> verdicts;
    for (std::size_t i = 0; i < part.runs.size(); ++i, ++at)
      verdicts.push_back(!told ? undecided_by_store(told.error())
                               : verdict_of(at < each.size() ? each[at] : storage::acquire_permits_answer::verdict{}));
    part.then(std::move(verdicts));
  }
}

throttle_verdict permits_throttler::verdict_of(const storage::acquire_permits_answer::verdict& said) const {
  if (said.what == admission::undecided) return undecided(why_undefined_(said.resource));
  return {said.what, {}, {}, said.resource};
}

}  // namespace sluice::execution
