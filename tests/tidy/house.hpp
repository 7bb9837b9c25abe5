// The table of the house: which room may include which, and where an outside library may be seen.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::tidy {

struct room {
  std::string_view folder;
  int floor;
};
// A room may include lower floors and itself; two rooms on a floor never know each other.
inline constexpr std::array rooms{
    room{"include/sluice", 1}, room{"core", 2},       room{"config", 3},  room{"storage", 3},   room{"scheduler", 4},
    room{"throttling", 4},     room{"operations", 5}, room{"wire", 5},    room{"execution", 6}, room{"client", 7},
    room{"actors", 7},         room{"dashboard", 8},  room{"testing", 8}, room{"cli", 9},       room{"samples", 9},
    room{"tests", 9},          room{"bench", 9},
};

// An outside library, by how its headers begin, and the only places that may see it.
struct library {
  std::string_view header;
  std::vector<std::string_view> places;
};
inline const std::vector<library> libraries{
    {"caf/", {"actors/", "include/sluice/actors.hpp", "samples/embed/", "tests/actors/", "bench/"}},
    {"sqlite3", {"storage/sqlite/", "bench/", "tests/", "samples/"}},
    {"hiredis", {"storage/redis/", "tests/", "bench/"}},
    {"openssl/", {"storage/redis/tls.cpp", "core/exec_key.cpp"}},
    {"lua", {"storage/sqlite/script_engine.cpp", "storage/sqlite/message_pack.cpp"}},
    {"spdlog/", {"core/log.cpp"}},
    {"fmt/", {}},
    {"CLI/", {"cli/"}},
    {"catch2/", {"tests/support/catch.hpp", "samples/testing_your_jobs/"}},  // versions 2 and 3 differ
    {"nlohmann/",
     {"include/sluice/json.hpp", "core/args_values.cpp", "core/recurring.cpp", "core/text.cpp", "core/throttlers.cpp",
      "storage/machine/named_values.hpp", "storage/sqlite/message_pack.cpp", "config/", "wire/body.cpp", "cli/exec/",
      "tests/", "samples/"}},
    {"date/", {}},
    {"microhttpd", {"dashboard/", "samples/", "tests/samples/"}},
    {"curl/", {"samples/"}},
};

struct include {
  std::string file;    // from the root of the tree
  std::string target;  // as it is written
  bool quoted = false;
};

inline const room* room_of(std::string_view path) {
  const auto at = std::find_if(rooms.begin(), rooms.end(), [&](const room& r) {
    return path.starts_with(r.folder) && path.substr(r.folder.size()).starts_with('/');
  });
  return at == rooms.end() ? nullptr : &*at;
}

// The store that a file belongs to, or the machine, which stores run; empty for all others.
inline std::string_view part_of_storage(std::string_view path) {
  for (const std::string_view part : {"storage/machine/", "storage/redis/", "storage/sqlite/"})
    if (path.starts_with(part)) return part;
  return {};
}

// What is wrong with an include, if anything is.
inline std::optional<std::string> complaint(const include& i) {
  const auto told = [&](const std::string& why) { return i.file + " includes " + i.target + ": " + why; };
  if (i.target.find("../") != std::string::npos) return told("paths go down from the root, never up");
  for (const auto& l : libraries)
    if (i.target.starts_with(l.header) && std::none_of(l.places.begin(), l.places.end(), [&](std::string_view place) {
          return std::string_view(i.file).starts_with(place);
        }))
      return told("this library is not for this place");
  // A real server of one's own is started in one way, also to measure it.
  if (i.file.starts_with("bench/") && i.target.starts_with("tests/support/")) return std::nullopt;
  // A part of a sample that others would take over has tests as a room has.
  if (i.file.starts_with("tests/samples/") && i.target.starts_with("samples/")) return std::nullopt;
  const auto part = part_of_storage(i.file), wanted = part_of_storage(i.target);
  if (!part.empty() && !wanted.empty() && wanted != part && wanted != "storage/machine/")
    return told("a store knows the machine and no other store");
  const auto* from = room_of(i.file);
  if (!from) return told("the file stands in no room");
  const auto* to = room_of(i.quoted ? i.target : "include/" + i.target);
  if (!to) return i.quoted ? std::optional(told("what is quoted stands in no room")) : std::nullopt;
  if (to != from && to->floor >= from->floor) return told("arrows point down only");
  return std::nullopt;
}

// Every include of the tree under `root`.
inline std::vector<include> includes_of_tree(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  std::vector<include> found;
  for (const auto& r : rooms) {
    if (!fs::exists(root / r.folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / r.folder)) {
      const auto kind = entry.path().extension();
      if (kind != ".hpp" && kind != ".cpp" && kind != ".h") continue;
      const auto file = entry.path().lexically_relative(root).generic_string();
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
        if (!line.starts_with("#include")) continue;
        const auto open = line.find_first_of("\"<");
        const auto close = line.find_first_of("\">", open + 1);
        if (open == std::string::npos || close == std::string::npos) continue;
        include i{file, line.substr(open + 1, close - open - 1), line[open] == '"'};
        // Tests and samples name their own files from their own root.
        if (const fs::path own = fs::path(r.folder) / i.target;
            i.quoted && !fs::exists(root / i.target) && fs::exists(root / own))
          i.target = own.generic_string();
        found.push_back(std::move(i));
      }
    }
  }
  return found;
}

}  // namespace sluice::tidy
