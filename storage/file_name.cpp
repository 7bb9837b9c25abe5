#include "storage/file_name.hpp"

#include <filesystem>

namespace sluice::storage {
namespace {

constexpr int max_links = 40;  // as the kernel follows

}  // namespace

std::string real_name(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  fs::path name = fs::absolute(path, unknown);
  if (unknown) return path;
  // `weakly_canonical` takes a link that leads nowhere yet for the file's own name.
  for (int links = 0; links < max_links && fs::is_symlink(name, unknown); ++links)
    name = name.parent_path() / fs::read_symlink(name, unknown);
  const auto real = fs::weakly_canonical(name, unknown);
  return unknown ? path : real.string();
}

}  // namespace sluice::storage
