// What a server does because time passed: what to ask of the store when, and what follows from the answers. Whoever
// drives it brings the time and the answers: the ticker, or a test's world. Used by one thread at a time.
#pragma once

#include "execution/due_schedules.hpp"
#include "execution/lost_leases.hpp"
#include "scheduler/timetable.hpp"

namespace sluice::execution {

class duties {
public:
  using requests = std::vector<storage::request>;
  // What others do of it.
  struct parts {
    std::function<void(const std::vector<std::string>& limiters)> look_at_lines;
    std::function<void()> sweep;                 // who looks for work may have missed a hint
    std::function<void(bool is_known)> beaten;   // whether the store knew this server before the heartbeat
    std::function<std::string()> zones_version;  // by which schedules are planned
    std::function<void()> read_zones;
  };

  // `of`, `self`: outlive it.
  duties(execution_context& of, const server_info& self, parts others, scheduler::timetable when)
      : of_(of), self_(self), others_(std::move(others)), timetable_(when), schedules_(of), leases_(of) {}

  // What is due now, as one batch for the store; not while one is not answered.
  requests due(steady_point now);
  // What follows from the answers to what was asked last: to be asked at once.
  requests answered(std::vector<storage::answer>& answers, steady_point now);
  bool is_waiting() const { return is_open_; }
  // Brings a duty forward.
  void at(scheduler::duty what, steady_point when) { timetable_.at(what, when); }
  // When something is due next.
  steady_point next() const { return timetable_.next(); }
  steady_point next(scheduler::duty what) const { return timetable_.next(what); }
  storage::heartbeat_request beat() const;

private:
  using duty = scheduler::duty;
  void add(duty what, requests& asked);
  bool note_refusals(const std::vector<storage::answer>& answers, steady_point now);
  requests keep(requests asked);
  void go_on(due_schedules::next_step next, steady_point now, requests& asked);
  void find_lost(storage::expired_answer& expired, steady_point now, requests& asked);

  template <class Answer>
  void on(const Answer& answer, steady_point now, requests& asked) {
    if constexpr (requires { schedules_.answered(answer); }) go_on(schedules_.answered(answer), now, asked);
  }
  void on(const storage::promote_answer& promoted, steady_point now, requests& asked);
  void on(const storage::reconcile_answer& reconciled, steady_point now, requests& asked);
  void on(const storage::heartbeat_answer& beaten, steady_point now, requests& asked);
  void on(const storage::prune_answer& pruned, steady_point now, requests& asked);
  void on(const storage::reap_answer& reaped, steady_point now, requests& asked);

  execution_context& of_;
  const server_info& self_;
  const parts others_;
  scheduler::timetable timetable_;
  due_schedules schedules_;
  lost_leases leases_;
  bool is_open_ = false;           // what was asked last is not answered
  std::vector<bool> are_updates_;  // which of it change a schedule
  steady_point next_warning_{};    // of much in quarantine
  std::string reconcile_from_;     // where the last look at waiters ended
};

}  // namespace sluice::execution
