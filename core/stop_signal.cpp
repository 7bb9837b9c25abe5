#include <sluice/stop_signal.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include <semaphore.h>
#include <time.h>

#include "core/signals.hpp"

namespace sluice {
namespace {

// What a signal handler may touch: numbers without a lock, and semaphores.
std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);
sem_t arrivals;
constexpr int signal_count = 65;
std::array<std::atomic<int>, signal_count> untold{};  // of each kind, those that signals::next has not told
sem_t news;                                           // one for each, and for each wake

bool is_stop(int signal) { return signal == SIGTERM || signal == SIGINT; }

void receive(int signal) {
  const int error_of_the_interrupted = errno;
  int none = 0;
  if (is_stop(signal) && received.compare_exchange_strong(none, signal)) ::sem_post(&arrivals);
  ++untold[static_cast<std::size_t>(signal)];
  ::sem_post(&news);
  errno = error_of_the_interrupted;
}

template <class Signals>
sigset_t set_of(const Signals& signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals)
    ::sigaddset(&set, signal);
  return set;
}

constexpr std::array stop_signals{SIGTERM, SIGINT};

template <class Signals>
void install(const Signals& signals) {
  struct sigaction action {};
  action.sa_handler = receive;
  action.sa_mask = set_of(signals);
  action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  for (const int signal : signals)
    ::sigaction(signal, &action, nullptr);
}

// A program that handles one of them itself goes on doing so.
bool has_own_handler(int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0) return true;
  if ((now.sa_flags & SA_SIGINFO) != 0) return true;
  return now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN && now.sa_handler != receive;
}

// While it lives the signals reach this thread, also where the process blocks them in all.
class reachable {
public:
  explicit reachable(const sigset_t& these) { ::pthread_sigmask(SIG_UNBLOCK, &these, &before_); }
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
  const reachable meanwhile(set_of(stop_signals));
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
    ::sem_init(&news, 0, 0);
    install(stop_signals);
  });
}

int wait_for_stop_signal() {
  return *wait_by([] { return ::sem_wait(&arrivals); });
}

std::optional<int> wait_for_stop_signal(duration most) {
  const auto until = monotonic_in(most);
  return wait_by([&] { return ::sem_clockwait(&arrivals, CLOCK_MONOTONIC, &until); });
}

namespace signals {

// While nobody sets a deadline it waits again.
constexpr duration longest_wait = std::chrono::hours(24);

kept::kept(const std::vector<int>& others) : all_(others) {
  catch_stop_signals();
  std::erase_if(all_, has_own_handler);
  install(all_);
  all_.insert(all_.end(), stop_signals.begin(), stop_signals.end());
}

int kept::next(std::optional<steady_point> deadline) const {
  const reachable meanwhile(set_of(all_));
  for (;;) {
    const auto until = monotonic_in(deadline ? std::chrono::ceil<duration>(*deadline - std::chrono::steady_clock::now())
                                             : longest_wait);
    if (::sem_clockwait(&news, CLOCK_MONOTONIC, &until) != 0) {
      if (errno == EINTR) continue;
      if (deadline) return none;
      continue;
    }
    for (const int signal : all_) {
      auto& its = untold[static_cast<std::size_t>(signal)];
      if (its.load() == 0) continue;
      --its;
      return signal;
    }
    return woken;
  }
}

void kept::block_elsewhere() const {
  const auto set = set_of(all_);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void kept::wake() { ::sem_post(&news); }

}  // namespace signals

}  // namespace sluice
