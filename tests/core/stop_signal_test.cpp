// In processes of their own: what catches a signal stays for the life of one.
#include <sluice/stop_signal.hpp>

#include <array>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "core/signals.hpp"
#include "support/catch.hpp"

namespace sluice::test {
namespace {

using namespace std::chrono_literals;

// How a process ended that did this: its exit code, 0 when it was true; -signal when one ended it.
int in_a_process(const std::function<bool()>& deed) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    ::alarm(20);  // instead of hanging
    for (const int signal : {SIGTERM, SIGINT})
      ::signal(signal, SIG_DFL);  // Catch2 has handlers of its own
    ::_exit(deed() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a stop signal that came before anybody waited is told to each who waits, and further ones change nothing") {
  for (const int signal : {SIGTERM, SIGINT}) {
    CHECK(in_a_process([signal] {
            catch_stop_signals();
            ::raise(signal);
            ::raise(SIGTERM);
            ::raise(SIGINT);
            return wait_for_stop_signal() == signal && wait_for_stop_signal(0s) == signal &&
                   wait_for_stop_signal() == signal;
          }) == 0);
  }
}

TEST_CASE("waiting for so long at most answers nothing when no stop signal has come") {
  CHECK(in_a_process([] { return !wait_for_stop_signal(0s) && !wait_for_stop_signal(1ms); }) == 0);
}

TEST_CASE("the first wait begins to catch stop signals, and until then they end the process") {
  CHECK(in_a_process([] { return ::raise(SIGTERM) != 0; }) == -SIGTERM);
  CHECK(in_a_process([] { return !wait_for_stop_signal(0s) && ::raise(SIGTERM) == 0 && wait_for_stop_signal(0s); }) ==
        0);
}

TEST_CASE("a stop signal reaches whoever waits in a process that blocks it in all threads") {
  CHECK(in_a_process([] {
          sigset_t all;
          ::sigfillset(&all);
          ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
          ::kill(::getpid(), SIGTERM);
          return wait_for_stop_signal() == SIGTERM;
        }) == 0);
}

TEST_CASE("one stop signal is told to all threads that wait") {
  CHECK(in_a_process([] {
          std::array<int, 4> told{};
          catch_stop_signals();
          {
            std::array<std::jthread, 4> threads;
            for (std::size_t i = 0; i < told.size(); ++i)
              threads[i] = std::jthread([&told, i] { told[i] = wait_for_stop_signal(); });
            ::kill(::getpid(), SIGINT);
          }
          return told == std::array<int, 4>{SIGINT, SIGINT, SIGINT, SIGINT};
        }) == 0);
}

TEST_CASE("whoever serves is told each stop signal, those too that came before, and the others that it asked for") {
  CHECK(in_a_process([] {
          catch_stop_signals();
          ::raise(SIGTERM);
          ::raise(SIGTERM);
          const signals::kept told({SIGUSR1});
          ::raise(SIGUSR1);
          return told.next() == SIGUSR1 && told.next() == SIGTERM && told.next() == SIGTERM &&
                 told.next(std::chrono::steady_clock::now()) == signals::none && wait_for_stop_signal(0s) == SIGTERM;
        }) == 0);
}

TEST_CASE("a signal reaches whoever serves though all threads block it, and so does a word of another thread") {
  CHECK(in_a_process([] {
          const signals::kept told({SIGUSR1});
          told.block_elsewhere();
          ::kill(::getpid(), SIGUSR1);
          if (told.next() != SIGUSR1) return false;
          std::jthread other([] { signals::kept::wake(); });
          return told.next() == signals::woken;
        }) == 0);
}

TEST_CASE("a handler that a program has for SIGUSR1 or SIGHUP stays") {
  CHECK(in_a_process([] {
          static volatile std::sig_atomic_t mine = 0;
          ::signal(SIGUSR1, [](int) { mine = 1; });
          const signals::kept told({SIGUSR1, SIGHUP});
          ::raise(SIGUSR1);
          ::raise(SIGHUP);
          return mine == 1 && told.next() == SIGHUP && told.next(std::chrono::steady_clock::now()) == signals::none;
        }) == 0);
}

}  // namespace sluice::test
