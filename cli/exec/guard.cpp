#include "cli/exec/guard.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/exec/children.hpp"

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
    std::size_t at = 0;
    while (at < count && groups[at] != (word < 0 ? -word : word))
      ++at;
    if (word > 0 && at == count && count < max_groups) groups[count++] = word;
    if (word < 0 && at < count) groups[at] = groups[--count];
  }
  for (std::size_t i = 0; i < count; ++i)
    ::kill(-groups[i], SIGKILL);
  ::_exit(0);
}

}  // namespace

struct guard::parts {
  std::mutex mutex{};
  int pipe = -1;  // the same number for each guard
  pid_t child = -1;
  std::set<pid_t> groups{};
  bool missed_some = false;

  // None waits for a guard that reads nothing.
  void say(pid_t word) {
    if (::write(pipe, &word, sizeof word) != static_cast<ssize_t>(sizeof word)) missed_some = true;
  }
  result<void> fork_one();
};

result<void> guard::parts::fork_one() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return error{errc::io_error, std::string("pipe: ") + std::strerror(errno)};
  const pid_t made = fork_own();
  if (made < 0) {
    const error failed{errc::io_error, std::string("fork: ") + std::strerror(errno)};
    ::close(ends[0]);
    ::close(ends[1]);
    return failed;
  }
  if (made == 0) {
    if (pipe >= 0) ::close(pipe);
    ::close(ends[1]);
    stand_guard(ends[0]);
  }
  ::close(ends[0]);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  if (pipe < 0) {
    pipe = ends[1];
  } else {
    ::dup3(ends[1], pipe, O_CLOEXEC);
    ::close(ends[1]);
  }
  child = made;
  return {};
}

result<guard> guard::start() {
  auto p = std::make_unique<parts>();
  if (auto forked = p->fork_one(); !forked) return forked.error();
  return guard(std::move(p));
}

guard::guard(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
guard::guard(guard&& other) noexcept = default;

guard::~guard() {
  if (!parts_) return;
  ::close(parts_->pipe);
  if (parts_->child >= 0) wait_for(parts_->child);
}

guard::words guard::to_guard() const { return words(parts_->pipe); }

bool guard::words::enter(pid_t group) const noexcept {
  return ::write(pipe_, &group, sizeof group) == static_cast<ssize_t>(sizeof group);
}

void guard::note(pid_t group) {
  const std::lock_guard hold(parts_->mutex);
  parts_->groups.insert(group);
  parts_->say(group);  // one that was started anew meanwhile has not heard it from the command
}

void guard::leave(pid_t group) noexcept {
  const std::lock_guard hold(parts_->mutex);
  parts_->groups.erase(group);
  parts_->say(-group);  // one that is gone or reads nothing is replaced before the next command
}

void guard::renew() {
  const std::lock_guard hold(parts_->mutex);
  if (parts_->child >= 0 && !has_ended(parts_->child)) {
    constexpr pid_t nobody = 0;
    parts_->say(nobody);
    if (!parts_->missed_some) return;  // another command had it started anew
    ::kill(parts_->child, SIGKILL);
  }
  if (parts_->child >= 0) wait_for(parts_->child);
  parts_->child = -1;                                     // its number may be another's by now
  if (auto forked = parts_->fork_one(); !forked) return;  // the next command tries again
  parts_->missed_some = false;
  for (const auto group : parts_->groups)
    parts_->say(group);
}

}  // namespace sluice::exec
