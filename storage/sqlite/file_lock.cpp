#include "storage/sqlite/file_lock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/sqlite/file_system.hpp"

namespace sluice::storage::sqlite {
namespace {

using namespace std::chrono_literals;

// flock has no deadline, so a waiter looks again and again; the turn keeps it to one waiter a lock.
constexpr duration first_pause = 50us;
constexpr duration longest_pause = 2ms;
constexpr duration say_so_after = 2s;

std::string holder_of(int turn) {
  std::array<char, 24> buffer{};
  const auto size = ::pread(turn, buffer.data(), buffer.size() - 1, 0);
  // What stands there was written by whoever noted itself last, and anybody who may lock may write.
  pid_t pid = 0;
  const auto* const end = buffer.data() + std::max<ssize_t>(size, 0);
  const auto read = std::from_chars(buffer.data(), end, pid);
  const bool lives = read.ec == std::errc{} && pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
  return lives ? cat("pid ", pid) : "an unknown process";
}

}  // namespace

bool same_file(const std::string& path, int fd) {
  struct stat named {
  }, opened{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &opened) == 0 && named.st_ino == opened.st_ino &&
         named.st_dev == opened.st_dev;
}

result<file_lock> file_lock::open(const std::string& database_path) {
  file_lock made;
  made.lock_path_ = database_path + ".lock";
  made.turn_path_ = database_path + ".turn";
  struct stat store {};
  const auto mode = ::stat(database_path.c_str(), &store) == 0 ? mode_of_lock(store.st_mode) : S_IRUSR | S_IWUSR;
  for (const auto& [path, fd] : {std::pair(&made.lock_path_, &made.lock_), std::pair(&made.turn_path_, &made.turn_)}) {
    *fd = open_or_make(*path, mode);
    if (*fd >= 0) continue;
    return error{errc::io_error, cat("cannot open ", *path, ": ",
                                     errno == ELOOP ? "it is a link, which a lock must not be" : std::strerror(errno))};
  }
  return made;
}

file_lock::file_lock(file_lock&& other) noexcept
    : lock_path_(std::move(other.lock_path_)),
      turn_path_(std::move(other.turn_path_)),
      lock_(std::exchange(other.lock_, -1)),
      turn_(std::exchange(other.turn_, -1)) {}

file_lock::~file_lock() {
  if (lock_ >= 0) ::close(lock_);
  if (turn_ >= 0) ::close(turn_);
}

result<void> file_lock::take(int fd, std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& stop) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
  const auto began = std::chrono::steady_clock::now();
  bool said = false;
  for (duration pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    std::this_thread::sleep_for(pause);
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
      if (said) log::info("got the write lock ", lock_path_);
      return {};
    }
    if (errno != EWOULDBLOCK && errno != EINTR)
      return error{errc::io_error, cat("flock ", lock_path_, ": ", std::strerror(errno))};
    const auto waited = std::chrono::steady_clock::now() - began;
    if (!said && waited > say_so_after) {
      said = true;
      log::warn("waiting for the write lock ", lock_path_, ", held by ", holder_of(turn_), " for 2 s; is it stopped?");
    }
    if (std::chrono::steady_clock::now() > deadline || stop)
      return error{errc::storage_busy, cat(holder_of(turn_), " holds the write lock ", lock_path_, " since ",
                                           std::chrono::duration_cast<std::chrono::milliseconds>(waited).count(),
                                           " ms; nothing was stored")};
  }
}

result<void> file_lock::acquire(duration timeout, const std::atomic<bool>& stop) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  if (auto first = take(turn_, deadline, stop); !first) return first;
  auto held = take(lock_, deadline, stop);
  if (held) {
    const std::string me = std::to_string(::getpid()) + "          ";
    if (::pwrite(turn_, me.data(), me.size(), 0) < 0) log::debug("cannot note the holder: ", std::strerror(errno));
  }
  ::flock(turn_, LOCK_UN);
  if (held && !same_file(lock_path_, lock_)) {
    release();
    return error{errc::storage_lost,
                 cat(lock_path_, " was removed or replaced while in use; restart every process on this store")};
  }
  return held;
}

void file_lock::release() noexcept { ::flock(lock_, LOCK_UN); }

file_lock::touches file_lock::counted() const noexcept {
  touches all;
  // Of one that was never told of a cancel there is the first number only, or nothing.
  if (::pread(lock_, &all, sizeof all, 0) < 0) all = {};
  return all;
}

void file_lock::touch(bool cancels) noexcept {
  auto all = counted();
  const int more = cancels ? 1 : 0;
  ++all.all;
  all.cancels += more;
  ++touches_;  // before it is written: who is told of it must find it to be ours
  cancels_ += more;
  if (::pwrite(lock_, &all, sizeof all, 0) >= 0) return;
  --touches_;  // a lost hint is found by the sweep
  cancels_ -= more;
}

file_lock::touches file_lock::notified_by_others() const noexcept {
  const auto all = counted();
  return {all.all - touches_, all.cancels - cancels_};
}

}  // namespace sluice::storage::sqlite
