// A file in which the configuration says that a secret stands.
#pragma once

#include <optional>
#include <string>

namespace sluice {

// The first line, as editors of any system write it: without a byte order mark at its head, and without LF or CR LF at
// its end. Empty for an empty file. Nothing for one that cannot be read; errno says why.
std::optional<std::string> first_line_of(const std::string& file);

}  // namespace sluice
