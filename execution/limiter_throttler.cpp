#include "execution/limiter_throttler.hpp"

#include <algorithm>
#include <utility>

#include "core/log.hpp"
#include "core/text.hpp"

namespace sluice::execution {
namespace {

constexpr int max_refusals = 50;  // before a line in the log

// What the store says of one that the step let in, or parked.
bool was_let_in(const storage::update_limiter_request& asked, const storage::update_limiter_answer& told,
                const storage::run_key& run) {
  for (std::size_t i = 0; i < asked.let_in.size() && i < told.let_in.size(); ++i)
    if (asked.let_in[i].fence == run.fence) return told.let_in[i] == errc::none;
  return false;
}
bool was_parked(const storage::update_limiter_request& asked, const storage::update_limiter_answer& told,
                const storage::run_key& run) {
  for (std::size_t i = 0; i < asked.parks.size() && i < told.parked.size(); ++i)
    if (asked.parks[i].run.fence == run.fence) return told.parked[i].what == admission::parked;
  return false;
}

}  // namespace

void limiter_throttler::acquire(std::vector<throttle_request> runs, std::optional<duration> park_for,
                                verdicts_callback then) {
  if (runs.empty()) return then({});
  auto all = std::make_shared<batch>(
      batch{std::vector<throttle_verdict>(runs.size()), runs.size(), std::move(then), park_for});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& about = runs[i].about;
    waiting_.push_back({all, i, about, {{}, {about->id, about->fence}, runs[i].may_park}});
  }
}

std::optional<storage::request> limiter_throttler::next_question(time_point now) {
  if (waiting_.empty() && !must_read_ && !is_look_) return std::nullopt;
  if (!seen_ || must_read_) {
    is_look_ = std::exchange(must_read_, false) || is_look_;
    open_.what = question::read;
    return storage::read_limiter_request{resource_};
  }
  // The last who waited was woken or deleted.
  if (std::exchange(is_look_, false) && seen_->lines.empty() && waiting_.empty()) {
    open_.what = question::forget_next_check;
    return no_next_check(resource_, *seen_);
  }
  return decide(now);
}

std::optional<storage::request> limiter_throttler::decide(time_point now) {
  if (!rule_.is_defined()) {
    judge_waiting(undecided(why_undefined_(resource_)));
    seen_.reset();  // it may be defined by the next time
    return std::nullopt;
  }
  while (!waiting_.empty() && open_.asks.size() < asks_in_a_step) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    if (name_line(next)) open_.asks.push_back(std::move(next));
  }
  std::vector<limiter_ask> asks;
  for (const auto& one : open_.asks)
    asks.push_back(one.ask);
  const auto there = seen_->now + (now - seen_at_);
  open_.planned = rule_.plan(*seen_, there, asks);
  hold_back(open_.planned, there);
  open_.what = question::update;
  return open_.planned.update;
}

// The line it would wait in; false: it has its verdict.
bool limiter_throttler::name_line(waiting_ask& one) const {
  auto line = rule_.line_of(*one.about);
  if (!line) {
    judge(one, {admission::rejected, {}, line.error().message});
    return false;
  }
  one.ask.resource = std::move(*line);
  return true;
}

// An actor of the host has said that these wait.
void limiter_throttler::hold_back(limiter_update& planned, time_point now) const {
  std::optional<duration> soonest;
  for (std::size_t i = 0; i < open_.asks.size(); ++i) {
    const auto& park_for = open_.asks[i].of->park_for;
    if (!park_for || planned.each[i].what != admission::granted) continue;
    const auto& run = open_.asks[i].ask.run;
    planned.each[i].what = admission::parked;
    planned.update.parks.push_back({run, resource_});
    std::erase_if(planned.update.let_in, [&](const auto& other) { return other.fence == run.fence; });
    soonest = std::min(soonest.value_or(*park_for), *park_for);
  }
  if (!soonest) return;
  planned.update.wakes.clear();
  planned.update.next_checks = {{resource_, now + *soonest}};
}

void limiter_throttler::answered(result<storage::answer> told, time_point now) {
  const auto what = std::exchange(open_.what, question::none);
  if (!told) return refused(told.error());
  if (what == question::read) return saw(std::move(std::get<storage::read_limiter_answer>(*told).limiter), now);
  auto& update = std::get<storage::update_limiter_answer>(*told);
  saw(std::move(update.limiter), now);
  if (what == question::update) updated(update);
}

void limiter_throttler::saw(storage::limiter_record limiter, time_point now) {
  seen_ = std::move(limiter);
  seen_at_ = now;
  rule_.read(seen_->definition, config_->limiters);
}

void limiter_throttler::updated(const storage::update_limiter_answer& told) {
  auto asked = std::exchange(open_.asks, {});
  if (!told.updated) {  // another was first, or the time of what we decided is over
    if (++refusals_ % max_refusals == 0)
      log::warn("throttler ", printable(resource_, 200), ": ", max_refusals,
                " updates in a row came too late, after those of other servers or the time that they were "
                "for; trying on");
    waiting_.insert(waiting_.begin(), std::make_move_iterator(asked.begin()), std::make_move_iterator(asked.end()));
    is_look_ = is_look_ || waiting_.empty();
    return;
  }
  refusals_ = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto& [what, after] = open_.planned.each[i];
    const auto& run = asked[i].ask.run;
    throttle_verdict verdict{admission::stale, {}, {}};
    if (what == admission::deferred) verdict = {what, after, {}};
    else if (what == admission::granted ? was_let_in(open_.planned.update, told, run)
                                        : was_parked(open_.planned.update, told, run))
      verdict.what = what;
    judge(asked[i], std::move(verdict));
  }
}

// These, and whoever came meanwhile; who waits in the store is looked at again when its next check is told of again.
void limiter_throttler::refused(const error& why) {
  must_read_ = is_look_ = false;
  seen_.reset();
  const auto verdict = undecided_by_store(why);
  for (const auto& one : std::exchange(open_.asks, {}))
    judge(one, verdict);
  judge_waiting(verdict);
}

void limiter_throttler::judge_waiting(const throttle_verdict& verdict) {
  for (const auto& one : std::exchange(waiting_, {}))
    judge(one, verdict);
}

void limiter_throttler::judge(const waiting_ask& one, throttle_verdict verdict) {
  auto& all = *one.of;
  all.verdicts[one.place] = std::move(verdict);
  if (--all.left == 0) all.then(std::move(all.verdicts));
}

}  // namespace sluice::execution
