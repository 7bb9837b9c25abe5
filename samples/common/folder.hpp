// Where a sample writes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "common/words.hpp"

namespace sample {

class folder {
public:
  // One that stays, and is made when it is not there; for an empty name a new one, which goes with the program.
  explicit folder(const std::string& named) : path_(named), is_mine_(named.empty()) {
    std::error_code why;
    if (!is_mine_ && (std::filesystem::create_directories(path_, why), why)) die(named + ": " + why.message());
    if (!is_mine_) return;
    std::string made = (std::filesystem::temp_directory_path() / "sluice-sample-XXXXXX").string();
    if (!::mkdtemp(made.data())) die("cannot make a temporary folder");
    path_ = made;
  }
  ~folder() {
    std::error_code ignored;
    if (is_mine_) std::filesystem::remove_all(path_, ignored);
  }
  folder(const folder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_;
  bool is_mine_;
};

}  // namespace sample
