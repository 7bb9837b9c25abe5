#include "actors/serving.hpp"

#include <atomic>
#include <csignal>
#include <memory>
#include <thread>

#include <unistd.h>

#include "core/log.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// Beyond the grace time and what the store needs, nothing holds us: leases recover the rest.
constexpr auto watchdog = 5s;
// `timeout` and some supervisors signal the process and then its group: that is one request to stop.
constexpr auto same_request = 500ms;
constexpr auto log_timeout = 500ms;

// The end, whatever still runs, or holds up the log.
[[noreturn]] void leave(int code) {
  log::flush(log_timeout);
  ::_exit(code);
}

// A stop in the background, so that signals are heard meanwhile.
class stop_under_way {
public:
  stop_under_way(server& s, duration grace, const std::function<void()>& when_stopped)
      : deadline(steady_clock::now() + grace + watchdog), thread_([this, &s, &when_stopped] {
          report_ = s.stop();
          s.give_back_unfinished();
          if (when_stopped) when_stopped();
          is_over_ = true;
          signals::kept::wake();
        }) {}

  bool is_over() const { return is_over_; }
  stop_report wait() {
    thread_.join();
    return report_;
  }
  // A stop signal that came meanwhile.
  void repeated(int signal) const {
    if (steady_clock::now() < asked_ + same_request) return;
    log::warn("second signal: leaving at once");
    leave(128 + signal);
  }

  const steady_point deadline;

private:
  const steady_point asked_ = steady_clock::now();
  std::atomic<bool> is_over_{false};
  stop_report report_;
  std::thread thread_;  // last: it uses the others
};

bool is_stop(int signal) { return signal == SIGTERM || signal == SIGINT; }

}  // namespace

bool serving::pause(duration how_long) const {
  const auto until = steady_clock::now() + how_long;
  for (int got = signals::woken; got != signals::none;) {
    got = told.next(until);
    if (is_stop(got)) return false;
    if (got == SIGUSR1) is_to_be_quiet = true;
    if (on_other && got > 0 && got != SIGUSR1) on_other(got);  // nothing is claimed yet that could be left
  }
  return true;
}

std::optional<result<void>> serving::start(server& s) const {
  bool is_told = false;
  auto started = s.start_while([&](duration how_long) {
    is_told = !pause(how_long);
    return !is_told;
  });
  if (is_told) return std::nullopt;
  return started;
}

int serving::until_told(server& s) const {
  const auto fatal = std::make_shared<std::atomic<bool>>(false);  // the server may outlive this call
  const auto& is_fatal = *fatal;
  const auto grace = s.when_fatal([fatal] {
    *fatal = true;
    signals::kept::wake();
  });
  if (!grace) {
    log::error("run: the server does not run; call start() before, and see what it answers");
    return 1;
  }
  if (greeting) log::info(greeting);
  if (is_to_be_quiet) s.quiet();
  std::optional<stop_under_way> stop;
  while (!stop || !stop->is_over()) {
    const int got = told.next(stop ? std::optional(stop->deadline) : std::nullopt);
    if (got == signals::none) {
      log::error("stopping took too long; leaving, leases recover what was held");
      leave(1);
    }
    if (got == SIGUSR1 && !stop) {
      log::info("SIGUSR1: claiming nothing new");
      s.quiet();
    }
    if (on_other && got != signals::woken && got != SIGUSR1 && !is_stop(got)) on_other(got);
    if (stop && is_stop(got)) stop->repeated(got);
    if (stop || (!is_stop(got) && !is_fatal)) continue;
    log::info(is_fatal ? "stopping: the store takes nothing more" : "stopping: giving running jobs ",
              is_fatal ? "" : format_duration(*grace));
    if (when_stopping) when_stopping();
    stop.emplace(s, *grace, when_stopped);
  }
  const auto report = stop->wait();
  log::info("stopped");
  const int code = is_fatal ? 1 : 0;
  if (report.unfinished > 0) leave(code);  // their bodies must not run on
  return code;
}

int run(server& s) {
  const signals::kept told({SIGHUP, SIGUSR1});  // a terminal that closed is no reason to stop
  return serving{.told = told, .greeting = "serving until SIGTERM or SIGINT"}.until_told(s);
}

}  // namespace sluice
