#include "execution/due_schedules.hpp"

#include "core/log.hpp"

namespace sluice::execution {
namespace {

constexpr std::size_t max_fired = 1'000;  // jobs in one request, or few more
constexpr auto after_refusal = std::chrono::seconds(1);

}  // namespace

void due_schedules::use_zones(const std::string& version) {
  if (version == zones_) return;
  zones_ = version;
  plan_from_.emplace();
}

std::optional<storage::request> due_schedules::next_planning() const {
  if (!plan_from_) return std::nullopt;
  return storage::schedules_request{200, *plan_from_};
}

scheduler::fired_schedule due_schedules::fire(const storage::schedule_row& due, time_point now) {
  auto fired = scheduler::firing(due, now, zones_,
                                 [this](new_job job) { return pipeline_.prepare(std::move(job), store_->now()); });
  auto& told = problems_[due.name];
  if (told != fired.problem && fired.left_to_others_for)
    log::error("schedule ", due.name, ": this server cannot tell when it runs (", fired.problem,
               "): it leaves it to other servers");
  else if (told != fired.problem && !fired.problem.empty())
    log::error("schedule ", due.name, ": no job can be made: ", fired.problem, "; its runs are left out until `sluice ",
               "recurring set ", due.name, "` mends its definition, or a filter of this server lets them pass");
  told = fired.problem;
  if (told.empty()) problems_.erase(due.name);
  return fired;
}

due_schedules::next_step due_schedules::answered(const storage::due_answer& due) {
  next_step next;
  std::size_t jobs = 0;
  more_due_ = due.next_in == duration::zero();
  left_ = 0;
  next.look_in = due.next_in;
  for (const auto& row : due.rows) {
    auto fired = fire(row, due.now);
    if (fired.left_to_others_for) {
      ++left_;
      next.look_in = std::min(next.look_in.value_or(duration::max()), *fired.left_to_others_for);
    }
    if (!fired.update) continue;
    jobs += fired.update->enqueue.size();
    next.requests.emplace_back(std::move(*fired.update));
    if (jobs < max_fired) continue;
    more_due_ = true;
    break;
  }
  if (!next.requests.empty() && more_due_) next.look_in.reset();  // their answers say so
  else more_due_ = false;
  return next;
}

due_schedules::next_step due_schedules::answered(const storage::schedules_answer& some) {
  next_step next;
  for (const auto& row : some.rows)
    if (auto planned = scheduler::planning_anew(row, zones_)) next.requests.emplace_back(std::move(*planned));
  plan_from_ = some.next.empty() ? std::nullopt : std::optional(some.next);
  if (plan_from_) next.look_in = duration::zero();
  return next;
}

due_schedules::next_step due_schedules::answered(const storage::update_schedule_answer& updated) {
  next_step next;
  if (updated.row && updated.row->next_at)
    next.look_in = std::max(duration::zero(), *updated.row->next_at - updated.now);
  if (std::exchange(more_due_, false)) next.look_in = duration::zero();
  return next;
}

steady_point due_schedules::refused(const error& why, steady_point now) {
  log::warn("ticker: the store refused to enqueue what schedules want (", to_string(why), "); trying again in a while");
  not_before_ = now + after_refusal;
  return not_before_;
}

}  // namespace sluice::execution
