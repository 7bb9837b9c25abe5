// Reads configurations as the program does, for the tests of this folder.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "core/processors.hpp"
#include "storage/store.hpp"
#include "support/catch.hpp"

namespace sluice::test {

inline config::loaded load(config::source from) { return config::load(from, {storage::check_url}); }
inline config::loaded load(const std::string& text) { return load(config::source{text, {}, {}}); }

// For a message of a failed test.
inline std::string shown(const std::vector<config::fault>& faults) {
  std::string text;
  for (const auto& f : faults)
    text += "[" + f.pointer + "] " + f.problem + "\n";
  return text;
}

// The options of a source that must have no fault.
inline server_options options_of(config::source from) {
  const auto got = load(std::move(from));
  INFO(shown(got.faults));
  REQUIRE(got.faults.empty());
  return got.options;
}
inline server_options options_of(const std::string& text) { return options_of(config::source{text, {}, {}}); }

inline std::uint32_t processors() { return std::min(usable_processors(), 1000u); }

}  // namespace sluice::test
