// The words of the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sample {

struct run_options {
  std::string role = "all";                       // or "work" or "provider"
  std::string pools = "throttled";                // or "one", "isolated", "staggered"; or "all", one after the other
  std::optional<std::uint32_t> seconds{};         // none: until it is told to stop
  std::optional<std::string> store{};             // none: what the configuration says
  std::uint16_t provider_port = 0;                // 0: any
  std::optional<std::uint16_t> dashboard_port{};  // 0: any; none: no dashboard
  std::string provider_url{};                     // for the role work
  std::vector<std::string> queues{};              // for the role work; none: all of the configuration
  std::optional<std::uint32_t> servers{};         // so many processes read one cache, instead of all the above
  std::uint32_t readers = 1000;                   // of all of them
  bool unlocked = false;                          // the lock of the cache holds for one process only
  bool json = false;
  bool help = false;

  // Whether this process is the one that begins and ends the run, and reports.
  bool reports() const { return role == "all" || (role == "provider" && store); }
};

extern const char* const usage;

// What --pools may say besides all: each adds something to the one before, and has a configuration file.
const std::vector<std::string>& ways_of_pools();

// The options, or what is wrong with the words.
std::variant<run_options, std::string> parse_options(int count, const char* const* words);

}  // namespace sample
