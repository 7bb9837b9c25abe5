// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device_check/kill_point.hpp"

namespace sample {

struct run_options {
  std::string role{};  // empty: the demonstration
  std::string store{};
  std::string journal{};
  std::string grant{};
  std::string device{};
  std::string check = "battery";
  std::uint32_t seconds = 0;    // a grant may be redeemed for
  std::uint32_t timeout = 300;  // of a poller, in seconds
  std::optional<std::uint16_t> page{};
  bool careless = false;
  kill_point dies{};
};

// Ends the program with usage and exit code 2 when the words are wrong, and with 0 after --help.
run_options read_options(int count, char** words);

}  // namespace sample
