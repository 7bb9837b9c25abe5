#include "storage/sqlite/file_system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.hpp"

namespace sluice::storage::sqlite {
namespace {

struct known_system {
  std::uint32_t magic;
  reach far;
};

constexpr known_system known_systems[] = {
    {0x6969, reach::network},      // NFS
    {0x517b, reach::network},      // SMB
    {0xff534d42, reach::network},  // CIFS
    {0xfe534d42, reach::network},  // SMB 2
    {0x00c36400, reach::network},  // Ceph
    {0x0bd00bd0, reach::network},  // Lustre
    {0x5346414f, reach::network},  // AFS
    {0x01161970, reach::network},  // GFS2
    {0x7461636f, reach::network},  // OCFS2
    {0x47504653, reach::network},  // GPFS
    {0x19830326, reach::network},  // BeeGFS
    {0x01021994, reach::memory},   // tmpfs
    {0x858458f6, reach::memory},   // ramfs
    {0x01021997, reach::unknown},  // 9p
    {0x65735546, reach::unknown},  // FUSE
};

}  // namespace

reach reach_of(long magic) {
  const auto word = static_cast<std::uint32_t>(magic);  // some are told with a sign
  const auto* const known = std::find_if(std::begin(known_systems), std::end(known_systems),
                                         [&](const known_system& one) { return one.magic == word; });
  return known == std::end(known_systems) ? reach::local : known->far;
}

bool is_mounted_alone(const std::string& file) {
  const auto mount_of = [](const std::string& path) -> std::optional<std::uint64_t> {
    struct statx its {};
    if (::statx(AT_FDCWD, path.c_str(), AT_NO_AUTOMOUNT, STATX_MNT_ID, &its) != 0) return std::nullopt;
    return (its.stx_mask & STATX_MNT_ID) != 0 ? std::optional<std::uint64_t>(its.stx_mnt_id) : std::nullopt;
  };
  const auto folder = std::filesystem::path(file).parent_path();
  const auto own = mount_of(file), of_folder = mount_of(folder.empty() ? "." : folder.string());
  return own && of_folder && *own != *of_folder;
}

std::string why_no_file_beside(const std::string& file) {
  const auto parent = std::filesystem::path(file).parent_path();
  const auto folder = parent.empty() ? std::string(".") : parent.string();
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  const int why = errno;
  const auto its = cat("its folder ", printable(folder, 300));
  return why == EROFS ? cat(its, " is on a read-only file system")
                      : cat("this user may not write ", its, " (", std::strerror(why), ")");
}

void known_file::learn(const std::string& path) {
  forget();
  fd_ = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  struct stat its {};
  if (fd_ < 0 || ::fstat(fd_, &its) != 0) return forget();
  device_ = its.st_dev;
  inode_ = its.st_ino;
}

void known_file::forget() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool known_file::is_still(const std::string& path) const {
  struct stat its {};
  return fd_ < 0 || (::stat(path.c_str(), &its) == 0 && its.st_dev == device_ && its.st_ino == inode_);
}

int open_or_make(const std::string& path, mode_t mode) {
  constexpr int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
  for (;;) {
    int fd = ::open(path.c_str(), flags);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = ::open(path.c_str(), flags | O_CREAT | O_EXCL, mode);
    if (fd < 0 && errno == EEXIST) continue;  // another was first
    if (fd >= 0 && ::fchmod(fd, mode) != 0) {
      const int why = errno;
      ::close(fd);
      errno = why;
      return -1;
    }
    return fd;
  }
}

mode_t mode_of_lock(mode_t mode_of_store) {
  mode_t mode = 0;
  for (const mode_t may_write : {S_IWUSR, S_IWGRP, S_IWOTH})
    if ((mode_of_store & may_write) != 0) mode |= may_write | (may_write << 1);
  return mode | S_IRUSR | S_IWUSR;
}

}  // namespace sluice::storage::sqlite
