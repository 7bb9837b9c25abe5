// The offsets of a time zone through the years.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.hpp>

namespace sluice::scheduler {

// Seconds since 1970 in UTC.
using instant = std::int64_t;

// What is answered for: from 1900-01-01 until 2200-01-01.
inline constexpr instant earliest = -2'208'988'800;
inline constexpr instant latest = 7'258'118'400;

// Since `begin` and until the next span begins, local time is UTC plus `offset`.
struct zone_span {
  instant begin;
  std::int32_t offset;
  std::int64_t reached;  // local clocks have shown what is before this until `begin`; after a gap it is less than what
                         // they show then, in an overlap it is more
};

struct zone_table {
  std::string name;
  std::vector<zone_span> spans;  // at least one; the first begins before `earliest`, the last ends after `latest`

  // The index of the span that has `at`, which is not before the first.
  std::size_t at(instant when) const;
};

// Of the bytes of a zone file (RFC 8536), where its own transitions end by the rule in its last line. invalid_argument
// says what is wrong with it.
result<zone_table> read_zone(std::string_view name, std::string_view bytes);

// One offset for ever.
zone_table fixed_zone(std::string_view name, std::int32_t offset);

}  // namespace sluice::scheduler
