// How many jobs came and ended. A part of the contract in storage/store.hpp.
#pragma once

#include <cstdint>

#include <sluice/totals.hpp>

#include "core/describe.hpp"

namespace sluice::storage {

// For so long the store keeps lists by minute, and by hour; and all of them together in so many bytes.
inline constexpr std::int64_t hours_of_minutes = 72;
inline constexpr std::int64_t days_of_hours = 90;
inline constexpr std::int64_t max_total_bytes = 67108864;

struct totals_request {
  static constexpr std::string_view request_name = "totals";
  totals_query query;
};
struct totals_answer {
  totals_report report;
};
void describe(auto& v, described<totals_answer> auto& a) { v("report", a.report); }

}  // namespace sluice::storage
