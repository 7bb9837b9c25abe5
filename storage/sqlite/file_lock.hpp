// One writer at a time among the processes that share a database file. SQLite before 3.51.3 can lose
// pages when one connection checkpoints while another resets the log; every write transaction and
// every checkpoint runs under this lock, which excludes that.
//
// FILE.lock is the lock; FILE.turn is held while waiting for it, so that the one who just let go
// cannot take it again before those who wait. After a commit that made work FILE.lock is written to:
// other processes watch that (file_watch.hpp). The holder's pid stands in FILE.turn. Both are made for those only who
// may write the database: a lock can be held by whoever can open its file.
#pragma once

#include <atomic>
#include <string>

#include <sluice/error.hpp>
#include <sluice/types.hpp>

namespace sluice::storage::sqlite {

class file_lock {
public:
  static result<file_lock> open(const std::string& database_path);
  file_lock(file_lock&& other) noexcept;
  ~file_lock();

  // Waits at most `patience`, or until `stop`. Errors: storage_busy (who holds it), storage_lost (the
  // lock file was removed: whoever made a new one holds another lock than we).
  result<void> acquire(duration timeout, const std::atomic<bool>& stop);
  void release() noexcept;

  // How often FILE.lock was written to, and for how many of that because somebody was asked to end.
  struct touches {
    std::int64_t all = 0;
    std::int64_t cancels = 0;
  };
  // Tells the other processes that there may be work, or who is asked to end. With the lock held.
  void touch(bool cancels) noexcept;
  // How often others did, or a little less while we do: then it is written to once more. Any thread.
  touches notified_by_others() const noexcept;

  const std::string& path() const { return lock_path_; }

private:
  file_lock() = default;
  result<void> take(int fd, std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& stop);

  std::string lock_path_;
  std::string turn_path_;
  int lock_ = -1;
  int turn_ = -1;
  touches counted() const noexcept;

  std::atomic<std::int64_t> touches_{0};
  std::atomic<std::int64_t> cancels_{0};
};

// True while `path` still names the file that `fd` is open on.
bool same_file(const std::string& path, int fd);

}  // namespace sluice::storage::sqlite
