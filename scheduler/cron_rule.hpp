// What a cron expression says, as sets of numbers, and the search through local time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/error.hpp>

namespace sluice::scheduler {

// Bit n of a set is the number n.
struct cron_rule {
  std::uint64_t seconds = 0, minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;      // of the month, from bit 1; not looked at with `from_end`
  std::uint32_t months = 0;    // from bit 1
  std::uint32_t weekdays = 0;  // from Sunday, bit 0

  bool from_end = false;         // L: the last day of the month,
  std::uint8_t days_back = 0;    // L-n: or some days before it
  bool nearest_weekday = false;  // W: the weekday of the month that is nearest to that one day
  std::uint8_t week = 0;         // 6#3: only the third such weekday of the month; 0 any
  bool last_week = false;        // 5L: only the last such weekday of the month

  bool repeats = false;      // a *, a range or a step in second, minute or hour: runs in both passes of an overlap
  bool has_seconds = false;  // as it was written; means nothing

  bool operator==(const cron_rule&) const = default;
};

// As cron::parse; whether it can ever match is not asked.
result<cron_rule> parse_cron(std::string_view text, std::string_view name, unsigned second_when_absent);

// As cron::text.
std::string print_cron(const cron_rule& rule);

// Seconds of a local clock, counted as if there were no offsets from 1970-01-01 00:00:00.
using local_second = std::int64_t;

// The first match at `from` or later; none from `end` on.
std::optional<local_second> first_match(const cron_rule& rule, local_second from, local_second end);

// The last match at `upto` or earlier; none before `begin`.
std::optional<local_second> last_match(const cron_rule& rule, local_second upto, local_second begin);

}  // namespace sluice::scheduler
