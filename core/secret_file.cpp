#include "core/secret_file.hpp"

#include <fstream>

#include "core/text.hpp"

namespace sluice {

std::optional<std::string> first_line_of(const std::string& file) {
  std::ifstream from(file, std::ios::binary);
  std::string line;
  std::getline(from, line);
  if (!from.is_open() || from.bad()) return std::nullopt;
  if (line.ends_with('\r')) line.pop_back();
  return std::string(without_bom(line));
}

}  // namespace sluice
