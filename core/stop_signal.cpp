#include <sluice/stop_signal.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include <semaphore.h>
#include <time.h>

namespace sluice {
namespace {

// What a signal handler may touch: a number without a lock, and a semaphore.
std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);
sem_t arrivals;

void receive(int signal) {
  const int error_of_the_interrupted = errno;
  int none = 0;
  if (received.compare_exchange_strong(none, signal)) ::sem_post(&arrivals);
  errno = error_of_the_interrupted;
}

sigset_t both_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT})
    ::sigaddset(&set, signal);
  return set;
}

// While it lives the signals reach this thread, also where the process blocks them in all.
class reachable {
public:
  reachable() {
    const auto both = both_signals();
    ::pthread_sigmask(SIG_UNBLOCK, &both, &before_);
  }
  ~reachable() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  reachable(const reachable&) = delete;

private:
  sigset_t before_{};
};

timespec monotonic_in(duration most) {
  constexpr std::int64_t second = 1'000'000'000;
  timespec at{};
  ::clock_gettime(CLOCK_MONOTONIC, &at);
  constexpr auto longest = std::chrono::hours(24 * 366);
  const auto ns = std::chrono::nanoseconds(std::clamp<duration>(most, duration::zero(), longest)).count() + at.tv_nsec;
  return {at.tv_sec + static_cast<time_t>(ns / second), static_cast<long>(ns % second)};
}

// `wait` as sem_wait. Passes on what it took, for whoever waits besides.
template <class Wait>
std::optional<int> wait_by(Wait wait) {
  catch_stop_signals();
  const reachable meanwhile;
  while (wait() != 0) {
    if (errno != EINTR) return std::nullopt;
  }
  ::sem_post(&arrivals);
  return received.load();
}

}  // namespace

void catch_stop_signals() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::sem_init(&arrivals, 0, 0);
    struct sigaction action {};
    action.sa_handler = receive;
    action.sa_mask = both_signals();
    action.sa_flags = SA_RESTART;
    for (const int signal : {SIGTERM, SIGINT})
      ::sigaction(signal, &action, nullptr);
  });
}

int wait_for_stop_signal() {
  return *wait_by([] { return ::sem_wait(&arrivals); });
}

std::optional<int> wait_for_stop_signal(duration most) {
  const auto until = monotonic_in(most);
  return wait_by([&] { return ::sem_clockwait(&arrivals, CLOCK_MONOTONIC, &until); });
}

}  // namespace sluice
