// Whose files a store's are, and where they lie.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace sluice::storage::sqlite {

// Whether other machines may have the same files. A file system of a program (FUSE, 9p) is of this machine alone or a
// way to another, and does not say which.
enum class reach : std::uint8_t { local, unknown, network };
reach reach_of(long magic);  // as statfs tells it

// Whether a file is mounted without its folder, as `docker run -v jobs.db:/app/jobs.db` does: what stands beside it is
// not seen where else it is mounted. False before Linux 5.8, which does not tell.
bool is_mounted_alone(const std::string& file);

// Opens a file to read and write, and makes one that is not there with exactly this mode, whatever the umask. Never
// through a link. Answers -1 and errno.
int open_or_make(const std::string& path, mode_t mode);

// Of a file that locks a store: whoever opens it can hold the store up, so it is for those only who may write the
// store.
mode_t mode_of_lock(mode_t mode_of_store);

}  // namespace sluice::storage::sqlite
