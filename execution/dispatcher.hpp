// Between a queue's pool and the store: claims jobs that fit into the pool, and settles what has ended, in one request
// where it can. It outlives its queue's supervisors. Whatever happens goes straight to it, on the thread of that: a
// hint, an end, an answer of the store, a verdict of the gate. Thread-safe; whoever brings a step may
// carry out others that came meanwhile.
#pragma once

#include "core/serial_executor.hpp"
#include "execution/claimer.hpp"
#include "execution/filter_calls.hpp"
#include "execution/supervisor_link.hpp"

namespace sluice::execution {

class dispatcher : public std::enable_shared_from_this<dispatcher> {
public:
  dispatcher(std::weak_ptr<execution_context> of, std::shared_ptr<pool> runs_in);

  // A supervisor takes over, or has another gate: what may be left undone is done again.
  void attach(std::shared_ptr<supervisor_link> supervisor);
  // It has ended. Nothing is claimed until another attaches itself; what ends is still settled.
  void detach(const std::shared_ptr<supervisor_link>& supervisor);

  // At the end of its pool: does nothing more, once the steps are over that were brought before. Not from a step.
  void end();

  // There may be work.
  void claim_if_free();
  // Of the pool: runs have ended, or need no thread of the server's any more.
  void runs_ended();
  // From the gate: what became of claimed runs.
  void judged(std::vector<admission_verdict> verdicts);
  // A timer of supervisor_link::call_later has come, or this queue's turn for a thread.
  void again(timer what);

  // From the supervisor: calls the filters, on this thread.
  void call_filters();

private:
  // False: the server has ended, and the step was not taken.
  template <class Step>
  bool run(Step step);
  // Settles what has ended and claims what fits: in one request, or beside one under way when it is worth it.
  void pump(execution_context& of) SLUICE_REQUIRES(executor_);
  bool ask_store(execution_context& of) SLUICE_REQUIRES(executor_);
  void send(execution_context& of, const open_request_ptr& request) SLUICE_REQUIRES(executor_);
  void call_later(duration in, timer what) SLUICE_REQUIRES(executor_);
  void answered(execution_context& of, std::uint64_t number, std::vector<storage::answer>& answers)
      SLUICE_REQUIRES(executor_);
  void claimed(execution_context& of, const open_request& request, storage::claim_answer& answer)
      SLUICE_REQUIRES(executor_);
  void refused(execution_context& of, const open_request_ptr& request, const error& why) SLUICE_REQUIRES(executor_);
  // Answers those ends that the store cannot take yet.
  std::vector<ended_run> settled(execution_context& of, open_request& request, const std::vector<errc>& each)
      SLUICE_REQUIRES(executor_);
  // Asks again about these ends alone: nothing else waits for them.
  void keep_refused(execution_context& of, std::vector<ended_run> ends, std::uint32_t failures)
      SLUICE_REQUIRES(executor_);
  // Its handler is over, whatever the store says of its end.
  void handler_over(execution_context& of, const ended_run& ended) SLUICE_REQUIRES(executor_);
  void release_suspect_slot(execution_context& of) SLUICE_REQUIRES(executor_);

  const std::weak_ptr<execution_context> context_;
  const std::shared_ptr<pool> pool_;
  serial_executor executor_;
  std::atomic<bool> is_ended_{false};
  claimer claims_ SLUICE_GUARDED_BY(executor_);
  open_requests open_ SLUICE_GUARDED_BY(executor_);
  current_supervisor supervisor_ SLUICE_GUARDED_BY(executor_);
  std::shared_ptr<thread_shares::share> threads_ SLUICE_GUARDED_BY(executor_){};
  bool coalescing_ SLUICE_GUARDED_BY(executor_) = false;     // of what has ended, for a moment
  duration min_round_trip_ SLUICE_GUARDED_BY(executor_){0};  // what a request took of late, at the least
  filter_calls filters_;
};

}  // namespace sluice::execution
