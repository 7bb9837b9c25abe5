/// How many jobs came and ended, since ever and by minute or hour. The store counts them in the step that brings them
/// about, so they outlive servers and the jobs themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <sluice/types.hpp>

namespace sluice {

/// A job that was put into quarantine ended in none of these ways.
struct job_totals {
  std::uint64_t enqueued = 0;  ///< New ones, occurrences of schedules included; not those that were requeued.
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;   ///< For good, whatever for: out of attempts, lost too often, given up, rejected.
  std::uint64_t deleted = 0;  ///< Also those that had ended before and were deleted then: they count twice.
  std::uint64_t retried = 0;  ///< Runs after which the job is to run again: failed ones, and those that asked for it.
  std::uint64_t lost = 0;     ///< Runs whose server gave no sign of life.

  bool operator==(const job_totals&) const = default;
};

enum class totals_step : std::uint8_t { minute, hour };

struct totals_query {
  std::optional<queue_name> queue{};  ///< None: all queues together.
  totals_step step = totals_step::minute;
  /// Rows that begin at `from` or later, and before `to`; none: as far as they go. Minutes are kept for 72 hours, hours
  /// for 90 days; fewer when all of a store's would be more than 64 MiB.
  std::optional<time_point> from{};
  std::optional<time_point> to{};
};

struct totals_row {
  time_point begins;  ///< By the store's clock, in UTC.
  job_totals in_it;
};

struct totals_report {
  job_totals ever;
  std::vector<totals_row> rows;  ///< The oldest first. A minute or hour in which nothing happened has none.
};

}  // namespace sluice
