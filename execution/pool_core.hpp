// What the parts of a pool share, and the steps that all of them take.
#pragma once

#include "core/mutex.hpp"
#include "core/stop_caller.hpp"
#include "execution/election.hpp"
#include "execution/ended_runs.hpp"
#include "execution/run_table.hpp"
#include "execution/worker_table.hpp"

namespace sluice::execution {

struct pool_core {
  pool_core(queue_name name, std::shared_ptr<const execution_config> runs_by);

  const queue_name queue;
  const std::shared_ptr<const execution_config> config;
  mutable mutex lock{};
  run_table runs SLUICE_GUARDED_BY(lock);
  ended_runs ended SLUICE_GUARDED_BY(lock);
  worker_table workers SLUICE_GUARDED_BY(lock);
  handler_times times SLUICE_GUARDED_BY(lock);
  std::map<std::string, chaining_type, std::less<>> chaining SLUICE_GUARDED_BY(lock);
  bool muted SLUICE_GUARDED_BY(lock) = false;    // calls nobody back and files no end any more
  std::condition_variable fewer_held{};          // for those that wait until nothing is held, or no thread is
  stop_caller stops{};                           // calls the handlers' own callbacks
  std::function<void(worker_id)> lend_thread{};  // to a worker that was called

  steady_point now() const { return config->time->steady_now(); }
  duration since(steady_point began) const { return std::chrono::duration_cast<duration>(now() - began); }

  run_state& state_of(const claimed_run& run) const SLUICE_REQUIRES(lock) {
    return const_cast<claimed_run&>(run).state_;
  }

  bool is_idle(duration for_long) const SLUICE_REQUIRES(lock) {
    return runs.held.empty() && runs.open_claims == 0 && since(runs.used) >= for_long;
  }

  // False: it was held already.
  bool hold(const run_ptr& run) SLUICE_REQUIRES(lock);
  void let_go(sluice::fence f) SLUICE_REQUIRES(lock);
  // The run waits for a worker from now on.
  void enqueue(const run_ptr& run, bool first = false) SLUICE_REQUIRES(lock);
  // Somebody begins what waits, if somebody can.
  void begin_waiting() SLUICE_REQUIRES(lock);
  // Whether the first that waits can begin. Those whose leases are over may be somebody else's by now: they end.
  bool has_next() SLUICE_REQUIRES(lock);
  void begin(worker& w) SLUICE_REQUIRES(lock);
  // It needs no thread now.
  void leave_thread(worker& w) SLUICE_REQUIRES(lock);
  // Another of its chain may begin. When it has not begun itself, those behind it go back.
  void end_turn(const claimed_run& run) SLUICE_REQUIRES(lock);
  void give_back(const run_chains::runs& waiting) SLUICE_REQUIRES(lock);
  // Its handler is over, or nobody waits for it any more: `end` must follow.
  void stop_running(const claimed_run& run) SLUICE_REQUIRES(lock);
  // The first of these. How long it ran is taken note of, and the next of its chain may begin.
  void handler_over(const claimed_run& run) SLUICE_REQUIRES(lock);
  // Its end is there to be taken.
  void file(const run_ptr& run, elected_end end) SLUICE_REQUIRES(lock);
  // The same of a run that no handler has begun.
  void file_never_begun(const run_ptr& run, const std::string& why) SLUICE_REQUIRES(lock);
  // Lets the filters have their say, without the lock, and files the end.
  void end(const run_ptr& run, outcome result, duration ran) SLUICE_EXCLUDES(lock);
};

// Holds the lock of a pool. Once the lock is free a worker that was called gets its thread, and what is to be told of
// the ends is told.
class SLUICE_CHECKED_BY_CLANG(scoped_lockable) pool_section {
public:
  explicit pool_section(pool_core& core) SLUICE_CHECKED_BY_CLANG(acquire_capability(core.lock))
      : core_(core), held_(core.lock) {}
  ~pool_section() SLUICE_CHECKED_BY_CLANG(release_capability());
  pool_section(const pool_section&) = delete;

  void unlock() SLUICE_CHECKED_BY_CLANG(release_capability()) SLUICE_CHECKED_BY_CLANG(no_thread_safety_analysis);
  void lock() SLUICE_CHECKED_BY_CLANG(acquire_capability()) { held_.lock(); }

private:
  pool_core& core_;
  mutex_lock held_;
};

}  // namespace sluice::execution
