// Reading an instant that somebody typed.
#pragma once

#include <optional>
#include <string_view>

#include <sluice/types.hpp>

namespace sluice {

// As format_time (core/text.hpp) writes it, also with up to six digits after the second or none, and without seconds.
// Years 1900 to 2199; of offsets only Z.
std::optional<time_point> parse_time(std::string_view text);

}  // namespace sluice
