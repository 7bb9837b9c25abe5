#include "support/places.hpp"

#include <filesystem>

namespace sluice::test {

std::string source_path(std::string_view inside) {
  std::string path = SLUICE_SOURCE_DIR;
  if (!inside.empty()) path.append("/").append(inside);
  return path;
}

std::string built_path(std::string_view inside) { return std::string(SLUICE_BINARY_DIR "/").append(inside); }

std::string program_path(std::string_view name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace sluice::test
