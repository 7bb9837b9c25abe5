// Counts the actors of one server, so that a stop inside a host's actor_system can wait for the last.
#pragma once

#include <condition_variable>
#include <mutex>

#include "core/clock.hpp"

namespace sluice::actors {

class actor_counter {
public:
  void add() { count(+1); }
  void remove() { count(-1); }

  // False when more than `staying` are there still at the deadline.
  bool wait_until_only(int staying, steady_point deadline) {
    std::unique_lock hold(mutex_);
    return changed_.wait_until(hold, deadline, [&] { return members_ <= staying; });
  }

private:
  void count(int by) {
    std::lock_guard hold(mutex_);
    members_ += by;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int members_ = 0;
};

}  // namespace sluice::actors
