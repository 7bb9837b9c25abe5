// The thread that renews leases and minds timeouts. It waits for no other thread of the server, so a host whose actors
// are all busy loses no lease. It sleeps while nothing is held.
#pragma once

#include <atomic>
#include <thread>

#include "execution/execution_context.hpp"

namespace sluice::execution {

class lease_keeper {
public:
  // `overdue(queue, fence)`: a handler still runs this long after it was asked to stop.
  using overdue_report = std::function<void(const queue_name&, sluice::fence)>;

  lease_keeper(std::weak_ptr<execution_context> of, overdue_report overdue);
  ~lease_keeper() { halt(); }

  // Ends the thread; renews nothing from then on.
  void halt();

  // New runs are held: there is something to renew, perhaps with a timeout.
  void notice(steady_point earliest_need);

  // A job may have been asked to end: what is held is renewed soon, which tells. That is at once, but several cancels
  // within some milliseconds are told by one renewal.
  void look_for_cancels();

  // A handler has told how far it is; that is stored soon, several times a second at most.
  void progress_waits();

private:
  void run();
  // Renews and minds the clock; answers when to look next.
  steady_point renew_due(execution_context& of, steady_point now);
  // Of one run: when to look at it next.
  steady_point monitor_run(const execution_context& of, const std::shared_ptr<pool>& p, const run_ptr& run,
                           const run_state& state, steady_point now);
  static void store_progress(execution_context& of);

  const std::weak_ptr<execution_context> context_;
  const overdue_report overdue_;
  mutex lock_;
  std::condition_variable changed_;
  std::atomic<steady_point::rep> next_look_;
  bool stopping_ SLUICE_GUARDED_BY(lock_) = false;
  std::atomic<bool> cancels_asked_ = false;  // since the last renewal
  // One is not answered yet; its answer may come when the keeper is gone.
  const std::shared_ptr<std::atomic<bool>> renewing_ = std::make_shared<std::atomic<bool>>(false);
  steady_point last_renewal_{};  // the thread's own
  std::thread thread_;
};

}  // namespace sluice::execution
