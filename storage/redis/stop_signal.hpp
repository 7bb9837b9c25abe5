// Set once by another thread: ends waits for Redis after a last grace.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>

#include "core/clock.hpp"

namespace sluice::storage::redis {

class stop_signal {
public:
  explicit stop_signal(std::chrono::milliseconds grace)
      : grace_(grace), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~stop_signal() { ::close(event_); }
  stop_signal(const stop_signal&) = delete;

  void set() {
    const auto at = (std::chrono::steady_clock::now() + grace_).time_since_epoch().count();
    steady_point::rep never = 0;
    if (!ends_.compare_exchange_strong(never, at)) return;
    ::eventfd_write(event_, 1);
  }
  bool is_set() const { return ends_ != 0; }
  // The earlier of `deadline` and the end of the grace.
  steady_point bounded(steady_point deadline) const {
    const auto at = ends_.load();
    return at == 0 ? deadline : std::min(deadline, steady_point(steady_point::duration(at)));
  }
  // Readable once it is set.
  int descriptor() const { return event_; }

private:
  const std::chrono::milliseconds grace_;
  const int event_;
  std::atomic<steady_point::rep> ends_{0};
};

}  // namespace sluice::storage::redis
