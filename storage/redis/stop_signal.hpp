// Waits for a descriptor by a deadline; set once by another thread, it ends waits for Redis after a last grace.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include <sluice/error.hpp>

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
  // Until one of the events of poll(2) has happened; storage_unavailable when that is not in time.
  result<void> wait(int fd, short events, steady_point deadline) const {
    for (;;) {
      const auto left = bounded(deadline) - std::chrono::steady_clock::now();
      if (left.count() <= 0)
        return error{errc::storage_unavailable, is_set() ? "the program is stopping" : "no answer in time"};
      const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
      const timespec ts{ns / 1'000'000'000, ns % 1'000'000'000};
      pollfd p[] = {{fd, events, 0}, {event_, POLLIN, 0}};
      const int got = ::ppoll(p, is_set() ? 1 : 2, &ts, nullptr);
      if (got < 0 && errno != EINTR) return error{errc::storage_unavailable, std::strerror(errno)};
      if (got > 0 && p[0].revents != 0) return {};
    }
  }

private:
  const std::chrono::milliseconds grace_;
  const int event_;
  std::atomic<steady_point::rep> ends_{0};
};

}  // namespace sluice::storage::redis
