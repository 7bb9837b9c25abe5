#include "storage/sqlite/forks.hpp"

#include <atomic>
#include <optional>

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.hpp"
#include "storage/sqlite/database.hpp"

namespace sluice::storage::sqlite {

// A row of a list that only grows. It has no lock, which another thread may have held at a fork.
struct opened_file {
  const pid_t by;
  const dev_t device;
  const ino_t inode;
  opened_file* next = nullptr;
  std::atomic<int> connections{0};
};

namespace {

std::atomic<opened_file*> last_opened{nullptr};

std::optional<struct stat> stat_of(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? std::optional(file) : std::nullopt;
}

template <class Is>
opened_file* find(const struct stat& file, Is is) {
  auto* one = last_opened.load();
  while (one && !(one->device == file.st_dev && one->inode == file.st_ino && is(*one)))
    one = one->next;
  return one;
}

}  // namespace

open_here::open_here(const std::string& path) {
  const auto file = stat_of(path);
  if (!file) return;
  const auto me = ::getpid();
  file_ = find(*file, [&](const opened_file& one) { return one.by == me; });
  if (!file_) {
    file_ = new opened_file{me, file->st_dev, file->st_ino, last_opened.load(), {}};
    while (!last_opened.compare_exchange_weak(file_->next, file_)) {
    }
  }
  ++file_->connections;
}
open_here::~open_here() {
  if (file_) --file_->connections;
}

void refuse_inherited(const std::string& path) {
  const auto file = stat_of(path);
  const auto me = ::getpid();
  const auto* parents =
      file ? find(*file, [&](const opened_file& one) { return one.by != me && one.connections > 0; }) : nullptr;
  if (parents)
    throw failure{SQLITE_AUTH, cat("process ", parents->by,
                                   " had this file open when it forked this one, and "
                                   "SQLite's locks do not outlive a fork: open it behind fork(), or exec a program")};
}

}  // namespace sluice::storage::sqlite
