/// Jobs that are enqueued again and again: by a cron expression or an interval. docs/recurring.md explains what is
/// promised. A schedule lives in the store; any server on it enqueues each occurrence, exactly once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/types.hpp>

namespace sluice {

/// What happens to occurrences that are later than 5 s, because no server ran or the clock was set ahead. last: the
/// newest of them runs, unless a newer one is on time. all: the newest `catch_up_max`.
enum class catch_up_rule : std::uint8_t { last, none, all };

/// What happens when an earlier job of the schedule is not final yet. skip: nothing is enqueued. queue_one: one may
/// wait beside those that run.
enum class overlap_rule : std::uint8_t { allow, skip, queue_one };

/// Which part of its minute (or interval, when that is shorter) a schedule takes, so that not all start at second 0.
/// by_name: a hash of its name, for ever the same. even: when it is added, the middle of the largest gap that the other
/// even ones leave; it keeps that. off: second 0. An expression with seconds says them itself.
enum class stagger_rule : std::uint8_t { by_name, even, off };

/// As in configuration: last, none, all; allow, skip, queue_one; true, even, false.
std::string_view name_of(catch_up_rule rule) noexcept;
std::string_view name_of(overlap_rule rule) noexcept;
std::string_view name_of(stagger_rule rule) noexcept;

/// One schedule. Of `cron` and `every` exactly one is said.
struct recurring {
  std::string name{};        ///< 1 to 150 bytes of [A-Za-z0-9_.:-].
  job_type job{};            ///< The type of its jobs.
  std::string args = "{}";   ///< A JSON object, at most 32 KiB.
  std::string cron{};        ///< <sluice/cron.hpp>: 5 or 6 fields, or a macro.
  duration every{0};         ///< 1 s to 366 days, in whole milliseconds; counted from 1970, not from the last run.
  std::string zone = "UTC";  ///< Of `cron`: an IANA name.
  /// Empty: that of its type, by the options of the server that has it in its `recurring`. Set otherwise, by those of
  /// whoever enqueues: the server that fires it, the client that triggers it. Else `default`.
  queue_name queue{};
  stagger_rule stagger = stagger_rule::by_name;
  catch_up_rule catch_up = catch_up_rule::last;
  std::uint32_t catch_up_max = 100;  ///< 1 to 1000.
  overlap_rule overlap = overlap_rule::allow;
  /// Of each of its jobs, as `new_job::headers`; one of `exec` jobs has its signature there (<sluice/exec_key.hpp>).
  std::map<std::string, std::string> headers{};

  bool operator==(const recurring&) const = default;
};

/// How a schedule stands.
struct recurring_status {
  std::string name{};
  std::optional<recurring> definition{};  ///< None: what is stored cannot be read. `problem` says so.
  bool paused = false;
  std::optional<time_point> next_at{};  ///< None: paused, or it cannot go on.
  std::optional<time_point> last_at{};  ///< Of its last job: the instant of the occurrence, or when it was triggered.
  job_id last_job{};                    ///< That job.
  /// Empty: all is well. Else why no job could be made; of a page, and of one schedule, also that no server takes the
  /// last of its jobs.
  std::string problem{};
};

/// One schedule, and when it runs next: at its `next_at`, also when that has passed, and then at the instants after
/// now; a paused one as if it were resumed now. Fewer than were asked for when it cannot go on.
struct recurring_outlook {
  recurring_status status{};
  std::vector<time_point> next{};
};

/// How a list of schedules is ordered. by_next: those without a next run last.
enum class recurring_order : std::uint8_t { by_name, by_next };

/// Which schedules to list: those of which all holds that is asked for. Of one that cannot be read only the name is
/// known.
struct recurring_query {
  std::string name_part{};  ///< Occurs in its name, in small letters or capitals. Empty: all, here and below.
  queue_name queue{};       ///< Its definition names this queue.
  job_type type{};          ///< Of its jobs.
  bool paused = false;      ///< Only those that are.
  recurring_order order = recurring_order::by_name;
  std::uint32_t limit = 50;  ///< At least 1.
  std::string after{};       ///< `recurring_page::next` of the page before. Another text: `invalid_argument`.
};

/// What changes its place in the order meanwhile may be missed or met twice.
struct recurring_page {
  std::vector<recurring_status> schedules;
  std::string next;  ///< Empty: this was the last page. Else "NAME", or by_next "INSTANT/NAME" or "never/NAME".
};

/// Headers of every job that a schedule enqueues: its name, and the instant of the occurrence (ISO 8601, UTC), which a
/// job that was triggered by hand does not have.
inline constexpr const char* recurring_header = "recurring";
inline constexpr const char* occurrence_header = "occurrence";

}  // namespace sluice
