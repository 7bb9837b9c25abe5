// Values inside a job's args, by path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.hpp>

namespace sluice {

// "customer.id", "lines.0.sku": keys, and places in lists from 0.
using args_path = std::vector<std::string>;
// Empty when a segment is, or has a space at its edge that nobody meant.
args_path parse_args_path(std::string_view text);

// What stands where a path points.
struct args_value {
  std::string text;                   // a text itself; a number, a flag or null as it is written
  std::string instead = "is not in";  // why it names nothing, as a sentence goes on to "the args"; else empty
};

// In the order of the paths. invalid_argument: the args are no JSON.
result<std::vector<args_value>> find_in_args(const std::string& args, const std::vector<args_path>& paths);

}  // namespace sluice
