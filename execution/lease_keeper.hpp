// The thread that renews leases and minds timeouts. It waits for no other thread of the server, so a host whose actors
// are all busy loses no lease. It sleeps while nothing is held.
#pragma once

#include <atomic>
#include <thread>

#include "execution/lease_watch.hpp"

namespace sluice::execution {

class lease_keeper {
public:
  lease_keeper(std::weak_ptr<execution_context> of, lease_watch::overdue_report overdue);
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

  const std::weak_ptr<execution_context> context_;
  lease_watch watch_;  // the thread's own, but for ask_for_cancels
  mutex lock_;
  std::condition_variable changed_;
  std::atomic<steady_point::rep> next_look_;
  bool stopping_ SLUICE_GUARDED_BY(lock_) = false;
  std::thread thread_;
};

}  // namespace sluice::execution
