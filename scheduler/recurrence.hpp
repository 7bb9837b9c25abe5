// When the jobs of a schedule are enqueued. Pure: the caller brings the time.
#pragma once

#include <optional>
#include <vector>

#include <sluice/cron.hpp>
#include <sluice/error.hpp>
#include <sluice/recurring.hpp>

#include "storage/schedules.hpp"

namespace sluice::scheduler {

// An occurrence that is not later than this is on time: it is enqueued whatever `catch_up` says, so that no short
// hold-up drops one.
inline constexpr duration on_time = std::chrono::seconds(5);

// At most so many occurrences are enqueued in one step of the store.
inline constexpr std::size_t occurrences_a_step = 100;

// Whether a definition's values make sense. invalid_argument names the one that does not, and says what is allowed.
result<void> check(const recurring& definition);

// --- Staggering.

// The part of time over which a schedule may be moved: a minute, or its interval when that is shorter; nothing when it
// says its seconds itself.
duration span_of(const recurring& definition);
// Whole seconds within the span, by the name alone.
duration offset_by_name(const std::string& name, duration span);
// The middle of the largest gap that these leave within the span, in whole milliseconds.
duration middle_of_largest_gap(const std::vector<storage::schedule_place>& taken, duration span);

// --- Occurrences.

// All instants of a schedule.
class recurrence {
public:
  // `place`: that of an evenly staggered one. invalid_argument: the expression or the zone.
  static result<recurrence> of(const recurring& definition, const std::optional<storage::schedule_place>& place);

  std::optional<time_point> next(time_point after) const;     // the first that is later
  std::optional<time_point> previous(time_point upto) const;  // the last that is not later

private:
  recurrence() = default;

  std::optional<cron> expression_;
  time_zone zone_ = time_zone::utc();
  duration every_{0};
  duration offset_{0};
};

// What is to be done about the occurrences after `mark`, up to `now`.
struct occurrences {
  std::vector<time_point> enqueue;  // oldest first
  time_point mark{};                // none up to here will be enqueued any more
  std::optional<time_point> next;   // the first after the mark; not later than now when there was too much for one step
};
occurrences due_of(const recurrence& all, const recurring& rules, time_point mark, time_point now);

}  // namespace sluice::scheduler
