// Reading the times and instants that somebody typed, and saying what is wrong with those that are none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sluice/types.hpp>

#include "core/ranges.hpp"

namespace sluice {

// RFC 3339, as format_time (core/text.hpp) writes it and with an offset in place of Z; also with a blank or 't' for
// 'T' and 'z' for 'Z', without seconds, and with up to six digits behind them. Years 1900 to 2199.
std::optional<time_point> parse_time(std::string_view text);

// As format_duration, but days where there are several: the ends of ranges, as people are told them.
std::string with_days(duration d);

// What follows the name of the word that a text was given for, as "must be an instant, ...": of one that is no instant,
// no time in a range, and neither a time ago nor an instant.
std::string no_instant(std::string_view text);
std::string no_time(std::string_view text, ranges::range<duration> allowed);
std::string no_since(std::string_view text);

}  // namespace sluice
