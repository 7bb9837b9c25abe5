// Looks after the runs that a pool holds: their leases, their progress, and their stop. Thread-safe.
#pragma once

#include "execution/pool_core.hpp"

namespace sluice::execution {

class run_watch {
public:
  explicit run_watch(pool_core& core) : core_(core) {}

  std::vector<std::pair<run_ptr, run_state>> held() const;
  bool holds(sluice::fence f) const;
  run_ptr find(sluice::fence f) const;  // null: it is not held
  void renewed(const run_ptr& run, steady_point lease_ends);
  // True the first time: it is told that the handler ignores its stop request.
  bool tell_overdue_once(const run_ptr& run);
  // What handlers have told of their progress since the last time.
  std::vector<storage::progress_request::run_report> take_progress();

  // Asks the handler to stop; a run that has not begun is given back. The first cause stands, but for one that was
  // cancelled and goes on until it is late or lost.
  void ask_to_stop(const run_ptr& run, stop_reason cause, steady_point now);
  // Perhaps before its token says so.
  bool is_stopping(const run_ptr& run) const;

  // No run begins any more: those that wait are given back, those that run are asked to stop.
  void drain(steady_point now);
  // Gives back what has waited for a worker since before `then`: handlers became slow.
  void give_back_queued_before(steady_point then);
  // Gives back what waits in chains whose slices are over. Answers when to look again.
  steady_point end_slices(steady_point now);
  // Gives back what waits for a worker and has this type.
  void give_back_type(const std::string& type, const std::string& why);
  // Nothing is held any more, but ends that are not waited for.
  bool wait_until_empty(steady_point deadline);
  // The store finds this end's job damaged: it is asked again, and a stop does not wait for it.
  void stop_waiting_for(const run_ptr& run);

private:
  bool is_waited_for() const SLUICE_REQUIRES(core_.lock);

  pool_core& core_;
};

}  // namespace sluice::execution
