// The rule by which a zone's clocks change for ever, as the last line of a zone file has it: POSIX TZ with the
// extensions of RFC 8536, "EST5EDT,M3.2.0,M11.1.0".
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "scheduler/zone_table.hpp"

namespace sluice::scheduler {

struct zone_change {
  instant at;
  std::int32_t offset;  // since then
};

class zone_rule {
public:
  // Nothing if it cannot be understood.
  static std::optional<zone_rule> read(std::string_view text);

  bool changes() const { return changes_; }
  std::int32_t standard_offset() const { return standard_; }
  // The two changes of a year, in their order.
  std::array<zone_change, 2> of_year(int year) const;

private:
  friend class zone_rule_reader;
  enum class day_kind { julian, counted, weekday };
  struct day {
    day_kind kind = day_kind::counted;
    int number = 0;  // 1 to 365, without 29 February; 0 to 365
    int month = 1, week = 1, weekday = 0;
    std::int32_t time = 7200;  // of the local clock, in seconds of that day, which it may leave
    instant in(int year) const;
  };

  bool changes_ = false;
  std::int32_t standard_ = 0, summer_ = 0;
  day begin_, end_;  // of summer time
};

}  // namespace sluice::scheduler
