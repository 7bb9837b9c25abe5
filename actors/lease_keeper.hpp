// The thread that renews leases and minds timeouts. It waits for no CAF thread, so a host whose actors
// are all busy loses no lease. It sleeps while nothing is held.
#pragma once

#include "actors/engine.hpp"

namespace sluice::actors {

class lease_keeper {
public:
  // `overdue(pool, fence)`: a body still runs this long after it was asked to stop.
  using overdue_report = std::function<void(const std::shared_ptr<pool>&, sluice::fence)>;

  lease_keeper(std::weak_ptr<engine> of, overdue_report overdue);
  ~lease_keeper() { halt(); }

  // Ends the thread; renews nothing from then on.
  void halt();

  // New starts are held: there is something to renew, perhaps with a timeout.
  void notice(steady_point earliest_need);

  // A body has said how far it is; that is stored soon, several times a second at most.
  void progress_waits();

private:
  void run();
  // Renews and minds the clock; answers when to look next.
  steady_point look(engine& e, steady_point now);
  static void store_progress(engine& e);
  using starts_of_pool = std::pair<std::shared_ptr<pool>, std::vector<start_ptr>>;
  static void renew(engine& e, const std::vector<starts_of_pool>& due, steady_point now);

  std::weak_ptr<engine> engine_;
  overdue_report overdue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<steady_point::rep> next_look_;
  bool stopping_ = false;
  steady_point last_renewal_{};
  std::thread thread_;
};

}  // namespace sluice::actors
