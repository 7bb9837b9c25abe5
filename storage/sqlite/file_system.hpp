// Whose files a store's are, and where they lie.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace sluice::storage::sqlite {

// Whether other machines may have the same files. A file system of a program (FUSE, 9p) is of this machine alone or a
// way to another, and does not say which.
enum class reach : std::uint8_t { local, memory, unknown, network };  // memory: gone when the machine is
reach reach_of(long magic);                                           // as statfs tells it

// Whether a file is mounted without its folder, as `docker run -v jobs.db:/app/jobs.db` does: what stands beside it is
// not seen where else it is mounted. False before Linux 5.8, which does not tell.
bool is_mounted_alone(const std::string& file);

// Why no file can be made beside this one, as "its folder F is on a read-only file system"; empty when one can.
std::string why_no_file_beside(const std::string& file);

// A file that is in use, known again by its inode, which it keeps from being used anew. It is only named, not opened:
// to open and close a database otherwise would drop SQLite's locks.
class known_file {
public:
  known_file() = default;
  known_file(const known_file&) = delete;
  ~known_file() { forget(); }
  // Of the file that the path names now, if there is one.
  void learn(const std::string& path);
  void forget();
  // Whether the path names it still; yes when none is known.
  bool is_still(const std::string& path) const;

private:
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Opens a file to read and write, and makes one that is not there with exactly this mode, whatever the umask. Never
// through a link. Answers -1 and errno.
int open_or_make(const std::string& path, mode_t mode);

// Of a file that locks a store: whoever opens it can hold the store up, so it is for those only who may write the
// store.
mode_t mode_of_lock(mode_t mode_of_store);

}  // namespace sluice::storage::sqlite
