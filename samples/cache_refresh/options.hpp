// The words of the command line.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include <sluice/types.hpp>

namespace sample {

struct run_options {
  std::string pools = "isolated";  // or "one"
  std::uint32_t seconds = 20;
  sluice::duration minute = std::chrono::seconds(1);
  std::optional<std::string> store{};  // none: what the configuration says
  bool json = false;
  bool help = false;
};

extern const char* const usage;

// The options, or what is wrong with the words.
std::variant<run_options, std::string> parse_options(int count, const char* const* words);

}  // namespace sample
