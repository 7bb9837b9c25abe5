// The workers of a pool: each takes the first run that waits, runs its handler and files the end. A worker is a number;
// it has a thread of the server's while it finds work. Thread-safe.
#pragma once

#include "execution/thread_cache.hpp"
#include "execution/worker_table.hpp"

namespace sluice::execution {

class pool;

// The end of a run whose actor died of it; or, when its server stops, as a host ends its actors then.
outcome handler_died(const claimed_run& run, const std::string& why);

// Throws when a worker of the server of this config calls: what its caller waits for would wait for the caller.
void refuse_own_worker(const void* config);

class worker_threads final : public thread_borrower {
public:
  explicit worker_threads(pool& of) : of_(of) {}

  worker_id add(worker_calls calls);
  // One that begins nothing by itself: whoever calls `run_next_here` lends it his thread, and stops are requested on
  // that of whoever asks for them. The only one of its pool, which is not closed.
  worker_id add_without_thread();
  // Runs the first that waits for a worker, on this thread. False: none does.
  bool run_next_here(worker_id id);
  // The worker takes no more. What it runs now is that job's failed run (`why`), reported as ended. Nothing when it
  // does not run `only_of`.
  void retire(worker_id id, const std::string& why, std::optional<sluice::fence> only_of = std::nullopt);
  // Who runs this, if it still runs.
  std::optional<worker_id> who_runs(sluice::fence f) const;
  // Retires who still runs this although it was asked to stop. False: nobody does.
  bool retire_overdue(sluice::fence f);

  // --- Runs that an actor of the host makes. The worker is taken while its own actor waits for the answer.
  // What this worker was given, if it still has it.
  run_ptr actor_run_of(worker_id id) const;
  // Files the end, unless somebody did, and gives it the next; null when there is none for this worker.
  run_ptr actor_answered(worker_id id, const run_ptr& run, outcome result);
  // That actor of the host has died: what it had in hand has failed (`why`).
  void actor_died(std::uint64_t actor, const std::string& why);

  // --- The end.
  // Calls nobody back and files no end any more: what was called may be gone.
  void disable_callbacks();
  // No worker is made any more. Retires all; waits for their threads until `deadline` at the latest.
  void close(steady_point deadline);

  // For a worker that was called. The thread keeps its pool alive: a handler that never ends may outlive the server.
  void lend_thread(worker_id id);
  // Called, from handlers and without a lock, when there is progress to take. Set before the first worker.
  void on_progress(std::function<void()> told) { on_progress_ = std::move(told); }

private:
  void use_thread(std::uint64_t worker) override;
  void run_here(worker_id id, const run_ptr& run);
  run_ptr next(worker_id id);
  void put(worker_id id, const run_ptr& run, outcome result);
  // Lets the filters have their say, without the lock, and files the end.
  void end(const run_ptr& run, outcome result, duration ran);
  // A handler has ended its thread.
  void thread_ended(worker_id id);
  void tell_progress(const run_ptr& run, progress_report progress);

  pool& of_;
  std::function<void()> on_progress_;
  std::atomic<bool> told_of_progress_{false};  // of one that is no fraction
};

}  // namespace sluice::execution
