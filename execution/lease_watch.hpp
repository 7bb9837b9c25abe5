// What is done for the runs that a server holds: their leases are renewed, which tells who is cancelled or lost, their
// timeouts are minded, and their progress is stored. Time is a parameter. Used by one thread at a time.
#pragma once

#include <atomic>

#include "execution/execution_context.hpp"

namespace sluice::execution {

class lease_watch {
public:
  // `overdue(queue, fence)`: a handler still runs this long after it was asked to stop.
  using overdue_report = std::function<void(const queue_name&, sluice::fence)>;

  explicit lease_watch(overdue_report overdue) : overdue_(std::move(overdue)) {}

  // Does what is due; answers when to look next.
  steady_point look(const std::shared_ptr<execution_context>& context, steady_point now);
  // A job may have been asked to end: a look renews what is held, which tells. False: that was asked before.
  // Thread-safe.
  bool ask_for_cancels() { return !cancels_asked_.exchange(true); }
  // What handlers have told since the last time.
  static void store_progress(execution_context& of);

private:
  // Of one run: when to look at it next.
  steady_point monitor_run(const execution_context& of, const std::shared_ptr<pool>& p, const run_ptr& run,
                           const run_state& state, steady_point now);

  const overdue_report overdue_;
  std::atomic<bool> cancels_asked_ = false;  // since the last renewal
  // One is not answered yet; its answer may come when the watch is gone.
  const std::shared_ptr<std::atomic<bool>> renewing_ = std::make_shared<std::atomic<bool>>(false);
  steady_point last_renewal_{};
};

}  // namespace sluice::execution
