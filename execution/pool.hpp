// A queue's pool: the runs that it holds (run_buffer.hpp), its workers, and the ends that go back. The server owns it
// and not the queue's supervisor: a supervisor that dies is replaced and finds everything here. Thread-safe.
#pragma once

#include <condition_variable>

#include "core/mutex.hpp"
#include "core/stop_caller.hpp"
#include "execution/worker_threads.hpp"

namespace sluice::execution {

class pool : public std::enable_shared_from_this<pool> {
public:
  pool(queue_name name, queue_options how, std::shared_ptr<const execution_config> runs_by)
      : queue(std::move(name)), options(how), config(std::move(runs_by)), runs_(config) {}

  const queue_name queue;
  const queue_options options;
  const std::shared_ptr<const execution_config> config;

  // What the pool holds, locked while this lives: for one expression as a rule, `p->lock()->admit(runs)`, whose
  // arguments must neither lock the pool nor call a user's code. At its end, once the lock is free, what waits is
  // begun, handlers hear of their stops and the dispatcher of ends, on this thread.
  class access {
  public:
    explicit access(pool& of) SLUICE_CHECKED_BY_CLANG(no_thread_safety_analysis) : pool_(of), held_(of.lock_) {}
    ~access();
    access(const access&) = delete;

    run_buffer* operator->() const SLUICE_CHECKED_BY_CLANG(no_thread_safety_analysis) { return &pool_.runs_; }
    run_buffer& operator*() const SLUICE_CHECKED_BY_CLANG(no_thread_safety_analysis) { return pool_.runs_; }
    worker_table& workers() const SLUICE_CHECKED_BY_CLANG(no_thread_safety_analysis) { return pool_.table_; }
    void unlock() SLUICE_CHECKED_BY_CLANG(no_thread_safety_analysis);
    void lock() SLUICE_CHECKED_BY_CLANG(no_thread_safety_analysis);
    // Until something may have changed. False once the deadline is over.
    bool wait_until(steady_point deadline) { return held_.wait_until(pool_.changed_, deadline); }

  private:
    pool& pool_;
    mutex_lock held_;
    bool is_held_ = true;
  };
  [[nodiscard]] access lock() { return access(*this); }

  pool_load load() const;
  // Each run as it is now.
  std::vector<std::pair<run_ptr, run_state>> held() const;
  bool awaits_admission(const run_ptr& run) const;
  // Perhaps before its token says so.
  bool is_stopping(const run_ptr& run) const;
  // What handlers have told of their progress since the last time.
  std::vector<storage::progress_request::run_report> take_progress();
  // Gives back what waits in chains whose slices are over. Answers when to look again.
  steady_point end_slices(steady_point now);
  // Once nothing was held for so long, nothing is from now on. False: it works on.
  bool end_if_idle(duration for_long);
  // No run begins any more: those that wait are given back, those that run are asked to stop.
  void drain(steady_point now);
  // Nothing is held any more, but ends that are not waited for.
  bool wait_until_empty(steady_point deadline);

private:
  friend class worker_threads;

  mutable mutex lock_{};
  run_buffer runs_ SLUICE_GUARDED_BY(lock_);
  worker_table table_ SLUICE_GUARDED_BY(lock_){};
  std::condition_variable changed_{};  // for those that wait until nothing is held, or no thread is
  stop_caller stops_{};                // calls the handlers' own callbacks

public:
  worker_threads workers{*this};
};

}  // namespace sluice::execution
