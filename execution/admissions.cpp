#include "execution/admissions.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "execution/store_throttler.hpp"

namespace sluice::execution {
namespace {

using namespace std::chrono_literals;

constexpr duration custom_away = 1s;  // when those are asked about again whose custom throttler is not there

std::vector<throttle_request> requests_of(const auto& some) {
  std::vector<throttle_request> asked;
  asked.reserve(some.size());
  for (const auto& one : some)
    asked.push_back({about_of(one.run), one.plan->otherwise == throttle_action::wait});
  return asked;
}

// One that is missing lets nobody in, nor does one that only ours may say: the store knows nothing of it.
throttle_verdict verdict_at(bool of_actor, const std::vector<throttle_verdict>& verdicts, std::size_t i) {
  using enum admission;
  throttle_verdict away{deferred, custom_away, {}};
  if (i >= verdicts.size()) return away;
  const auto what = verdicts[i].what;
  return !of_actor || what == granted || what == deferred || what == rejected ? verdicts[i] : away;
}

}  // namespace

admission_step admissions::admit(const std::vector<admission_request>& asks) {
  admission_step step;
  std::vector<admittee> on;
  for (const auto& ask : asks)
    // A supervisor's successor asks again for what is on its way.
    if (on_their_way_.insert(ask.run->about.fence).second) begin(ask, on, step);
  go_on(std::move(on), step);
  return step;
}

void admissions::begin(const admission_request& ask, std::vector<admittee>& on, admission_step& step) {
  const auto& about = ask.run->about;
  const auto plan = config_->throttles.find(about.type.value);
  if (plan == config_->throttles.end()) return on.push_back({ask.run});
  auto left = find_steps_left(plan->second, about, ask.admitted,
                              [this](const std::string& custom) { return config_->is_custom_actor(custom); });
  if (!left) return judge({ask.run, admission::rejected, 0s, left.error().message}, step);
  admittee one{ask.run, &plan->second, std::move(left->custom)};
  if (!left->permits.empty()) one.left.emplace_back(all_permits);
  one.left.insert(one.left.end(), left->windows.begin(), left->windows.end());
  on.push_back(std::move(one));
}

// Each is asked about at its next throttler, those of one throttler together; who has none left is let in.
void admissions::go_on(std::vector<admittee> some, admission_step& step) {
  std::map<std::string, std::vector<admittee>> next;
  for (auto& one : some) {
    if (one.left.empty()) judge({one.run, admission::granted, 0s, {}}, step);
    else next[one.left.front()].push_back(std::move(one));
  }
  for (auto& [resource, of_one] : next)
    ask({resource, config_->is_custom_actor(resource), std::nullopt, std::move(of_one)}, step);
}

void admissions::ask(open_question of, admission_step& step) {
  step.questions.push_back({++last_number_, of.resource, of.to_actor, of.park_for, requests_of(of.about)});
  open_[last_number_] = std::move(of);
}

std::optional<admissions::open_question> admissions::take(std::uint64_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) return std::nullopt;
  auto taken = std::move(found->second);
  open_.erase(found);
  return taken;
}

admission_step admissions::answered(std::uint64_t number, const std::vector<throttle_verdict>& verdicts) {
  admission_step step;
  auto q = take(number);
  if (!q) return step;
  const auto& resource = q->resource;
  std::vector<admittee> on, later;
  duration after = 0s;
  for (std::size_t i = 0; i < q->about.size(); ++i) {
    auto& one = q->about[i];
    auto said = verdict_at(q->to_actor, verdicts, i);
    switch (said.what) {
      case admission::granted:
        if (q->to_actor) one.let_in.push_back(resource);
        one.left.erase(one.left.begin());
        on.push_back(std::move(one));
        break;
      case admission::deferred:
        after = std::max(after, std::max<duration>(said.after, 1ms));
        if (one.plan->otherwise == throttle_action::wait) later.push_back(std::move(one));
        else defer(one, said.resource.empty() ? resource : said.resource, after, std::move(said.why), step);
        break;
      case admission::rejected:
      case admission::parked:
      case admission::stale:
      case admission::undecided: turn_away(one, {one.run, said.what, said.after, said.why}, step); break;
    }
  }
  if (!later.empty()) wait_in_line(resource, std::move(later), after, step);
  go_on(std::move(on), step);
  return step;
}

admission_step admissions::unanswered(std::uint64_t number) {
  admission_step step;
  if (auto q = take(number)) wait_in_line(q->resource, std::move(q->about), custom_away, step);
  return step;
}

admission_step admissions::ask_again(std::uint64_t number) {
  admission_step step;
  if (auto q = take(number)) ask(std::move(*q), step);
  return step;
}

// Of a custom throttler: it says when, the store keeps who waits.
void admissions::wait_in_line(const std::string& resource, std::vector<admittee> some, duration after,
                              admission_step& step) {
  std::vector<admittee> waiting;
  for (auto& one : some) {
    if (one.plan->otherwise == throttle_action::wait) waiting.push_back(std::move(one));
    else defer(one, resource, after, {}, step);
  }
  if (!waiting.empty()) ask({resource, false, after, std::move(waiting)}, step);
}

void admissions::defer(const admittee& one, const std::string& resource, duration after, std::string why,
                       admission_step& step) {
  if (why.empty()) why = cat("deferred by ", printable(resource, 200));
  turn_away(one, {one.run, admission::deferred, after, std::move(why), resource == all_permits ? "" : resource}, step);
}

void admissions::turn_away(const admittee& one, admission_verdict verdict, admission_step& step) {
  for (const auto& resource : one.let_in)
    step.not_started[resource].push_back({about_of(one.run), false, 0s});
  judge(std::move(verdict), step);
}

void admissions::judge(admission_verdict verdict, admission_step& step) {
  on_their_way_.erase(verdict.run->about.fence);
  step.verdicts.push_back(std::move(verdict));
}

}  // namespace sluice::execution
