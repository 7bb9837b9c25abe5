/// When: cron expressions and time zones. docs/cron.md explains the language with examples.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/error.hpp>
#include <sluice/types.hpp>

namespace sluice {

namespace scheduler {
struct cron_rule;
struct zone_table;
}  // namespace scheduler

/// A time zone as the system's zone files had it when it was found. Immutable, cheap to copy, usable by any thread.
class time_zone {
public:
  /// By its IANA name, as "Europe/London", from the folder that TZDIR names or /usr/share/zoneinfo. A file that was
  /// changed since the last call is read again. invalid_argument: no such zone (the message names the nearest known
  /// ones), or its file is damaged. Thread-safe; microseconds, but for the first call of each zone (under a
  /// millisecond) and for errors (some milliseconds).
  static result<time_zone> find(std::string_view iana_name);
  /// Needs no zone files; so does find("UTC").
  static time_zone utc();

  const std::string& name() const noexcept;
  /// What is added to UTC for the zone's local time. Exact from 1900 to 2199.
  std::chrono::seconds offset_at(time_point at) const;

private:
  friend class cron;
  explicit time_zone(std::shared_ptr<const scheduler::zone_table> table) noexcept : table_(std::move(table)) {}
  std::shared_ptr<const scheduler::zone_table> table_;
};

/// Of the zone files that find() reads now, as "2025b-91c0de5a83b40f27": the release, when the files name it, and a
/// checksum of all of them; the same on machines with the same files. Empty without zone files. When it has changed,
/// find zones again and recompute what was computed with them. Reads every file (some milliseconds). Thread-safe.
std::string time_zone_version();

/// A cron expression that was understood. Immutable, cheap to copy, usable by any thread; next() and previous()
/// allocate and lock nothing.
class cron {
public:
  /// `name`: whose hash is `H`, the schedule's as a rule; an `H` without a name is an error. `second_when_absent`: 0 to
  /// 59, the second of an expression of 5 fields, which spreads schedules that share a minute.
  ///
  /// invalid_argument tells the field, the position in `text` (from 1) and what is allowed. An expression of which no
  /// occurrence exists, as that of 30 February, is an error too.
  static result<cron> parse(std::string_view text, std::string_view name = {}, unsigned second_when_absent = 0);

  /// In one form for all that mean the same, with every `H` and macro resolved. parse(text()) equals *this.
  std::string text() const;
  /// The text had six fields, or was @every_second.
  bool has_seconds() const noexcept;

  /// The first occurrence that is later than `after`; occurrences are whole seconds. What falls into a gap of the zone
  /// runs once, at the first instant after it. What is said twice, as clocks go back, runs at the first of the two;
  /// also at the second if the second, minute or hour has a `*`, a range or a step. None before 1900 or after 2199
  /// (UTC).
  std::optional<time_point> next(time_point after, const time_zone& zone) const;
  /// The last occurrence that is not later than `upto`.
  std::optional<time_point> previous(time_point upto, const time_zone& zone) const;

  /// The same occurrences by the same rules, whatever was written; has_seconds() may differ.
  friend bool operator==(const cron& a, const cron& b) noexcept;

private:
  explicit cron(std::shared_ptr<const scheduler::cron_rule> rule) noexcept : rule_(std::move(rule)) {}
  std::shared_ptr<const scheduler::cron_rule> rule_;
};

}  // namespace sluice
