// A folder of a test's own, gone when the test is.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <sys/vfs.h>

namespace sluice::test {

class temp_dir {
public:
  temp_dir() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }
  ~temp_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temp_dir(const temp_dir&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string url(const std::string& name = "jobs.db") const { return "sqlite:" + file(name); }
  const std::filesystem::path& path() const { return path_; }
  // As /tmp is on some machines: a tmpfs keeps nothing over a restart.
  bool is_in_memory() const { return is_in_memory(path_.string()); }
  static bool is_in_memory(const std::string& folder) {
    struct statfs its {};
    constexpr auto tmpfs = 0x01021994;
    return ::statfs(folder.c_str(), &its) == 0 && its.f_type == tmpfs;
  }

private:
  std::filesystem::path path_;
};

}  // namespace sluice::test
