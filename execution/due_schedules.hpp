// Fires the schedules that are due, and plans them anew when the machine's zone files have changed: what to ask of the
// store, and what its answers mean. Used by one thread at a time.
#pragma once

#include <map>

#include "core/pipeline.hpp"
#include "execution/execution_context.hpp"
#include "scheduler/schedules.hpp"

namespace sluice::execution {

class due_schedules {
public:
  explicit due_schedules(const execution_context& of)
      : store_(of.store), pipeline_(of.config->filters, of.options.jobs, of.options.queues) {}

  // The zone files by which schedules are planned now. Other ones than before: they run at other instants.
  void use_zones(const std::string& version);
  // What is due, beside those that are left to other servers.
  storage::due_request next_look() const { return {storage::due_request{}.limit + left_}; }
  // What is still to be planned anew.
  std::optional<storage::request> next_planning() const;

  // What follows from an answer: requests, and when to look for due schedules again, if that is known.
  struct next_step {
    std::vector<storage::request> requests{};
    std::optional<duration> look_in{};
  };
  next_step answered(const storage::due_answer& due);
  next_step answered(const storage::schedules_answer& some);
  next_step answered(const storage::update_schedule_answer& updated);
  // The store refused to enqueue what they want. One schedule that cannot go on holds up nobody: not at once again.
  // Answers when.
  steady_point refused(const error& why, steady_point now);

  // Not before that.
  steady_point not_before(steady_point wanted) const { return std::max(wanted, not_before_); }

private:
  scheduler::fired_schedule fire(const storage::schedule_row& due, time_point now);

  std::shared_ptr<store_access> store_;
  enqueue_pipeline pipeline_;
  std::string zones_;
  std::optional<std::string> plan_from_;         // which schedules are still to be planned anew
  std::uint32_t left_ = 0;                       // to other servers, of those that are due
  bool more_due_ = false;                        // than one step could fire
  std::map<std::string, std::string> problems_;  // of schedules, as they were told last
  steady_point not_before_{};
};

}  // namespace sluice::execution
