// The words of the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sample {

struct run_options {
  std::string pools = "throttled";         // or "one", "isolated", "staggered"; or "all", one after the other
  std::optional<std::uint32_t> seconds{};  // none: until it is told to stop
  std::optional<std::string> store{};      // none: what the configuration says
  std::uint16_t provider_port = 0;         // 0: any
  bool with_server = true;                 // false: others work on the store
  bool json = false;
  bool help = false;
};

extern const char* const usage;

// What --pools may say besides all: each adds something to the one before, and has a configuration file.
const std::vector<std::string>& ways_of_pools();

// The options, or what is wrong with the words.
std::variant<run_options, std::string> parse_options(int count, const char* const* words);

}  // namespace sample
