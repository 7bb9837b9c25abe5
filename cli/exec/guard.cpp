#include "cli/exec/guard.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::exec {
namespace {

constexpr std::size_t max_groups = 4096;  // more than all workers of a server

void close_all_but(int kept) {
  // The lock and the database among others: held open here they would outlive their owner.
  if (kept > 3) ::syscall(SYS_close_range, 3u, static_cast<unsigned>(kept - 1), 0u);
  if (::syscall(SYS_close_range, static_cast<unsigned>(kept + 1), ~0u, 0u) == 0) return;
  for (int fd = 3; fd < 65536; ++fd)
    if (fd != kept) ::close(fd);
}

// Only async-signal-safe calls: the parent may have threads.
[[noreturn]] void stand_guard(int pipe) {
  ::setsid();  // a terminal's Ctrl-C is not for us
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE})
    ::signal(signal, SIG_IGN);
  close_all_but(pipe);
  static std::array<pid_t, max_groups> groups;
  std::size_t count = 0;
  pid_t word = 0;
  for (;;) {
    const auto got = ::read(pipe, &word, sizeof word);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof word)) break;
    if (word > 0 && count < max_groups) groups[count++] = word;
    for (std::size_t i = 0; word < 0 && i < count; ++i)
      if (groups[i] == -word) {
        groups[i] = groups[--count];
        break;
      }
  }
  for (std::size_t i = 0; i < count; ++i)
    ::kill(-groups[i], SIGKILL);
  ::_exit(0);
}

}  // namespace

result<guard> guard::start() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return error{errc::io_error, std::string("pipe: ") + std::strerror(errno)};
  const pid_t child = ::fork();
  if (child < 0) {
    const error failed{errc::io_error, std::string("fork: ") + std::strerror(errno)};
    ::close(ends[0]);
    ::close(ends[1]);
    return failed;
  }
  if (child == 0) {
    ::close(ends[1]);
    stand_guard(ends[0]);
  }
  ::close(ends[0]);
  return guard(ends[1], child);
}

guard::guard(guard&& other) noexcept : pipe_(std::exchange(other.pipe_, -1)), child_(std::exchange(other.child_, -1)) {}

guard::~guard() {
  if (pipe_ < 0) return;
  ::close(pipe_);
  ::waitpid(child_, nullptr, 0);
}

bool guard::enter(pid_t group) const noexcept {
  return ::write(pipe_, &group, sizeof group) == static_cast<ssize_t>(sizeof group);
}

void guard::leave(pid_t group) const noexcept {
  const pid_t word = -group;
  if (::write(pipe_, &word, sizeof word) < 0) return;  // the guard is gone, and with it what it would kill
}

}  // namespace sluice::exec
