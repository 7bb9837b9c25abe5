#include <array>
#include <bit>
#include <chrono>

#include "scheduler/cron_rule.hpp"

namespace sluice::scheduler {
namespace {

constexpr local_second seconds_a_day = 86400;
constexpr std::uint32_t all_weekdays = 0x7f;

// The lowest number of `set` that is `n` or more, -1 if there is none.
int lowest(std::uint64_t set, int n) {
  const auto rest = n > 63 ? 0 : set >> n << n;
  return rest ? std::countr_zero(rest) : -1;
}

// The highest number of `set` that is `n` or less.
int highest(std::uint64_t set, int n) {
  const auto rest = n < 0 ? 0 : set << (63 - n);
  return rest ? n - std::countl_zero(rest) : -1;
}

struct time_of_day {
  int hour, minute, second;
  local_second count() const { return hour * 3600 + minute * 60 + second; }
};

time_of_day split(local_second in_day) {
  const auto s = static_cast<int>(in_day);
  return {s / 3600, s / 60 % 60, s % 60};
}

std::optional<local_second> first_time(const cron_rule& r, time_of_day from) {
  const int first_second = lowest(r.seconds, 0);
  if (r.hours >> from.hour & 1) {
    if (r.minutes >> from.minute & 1)
      if (const int s = lowest(r.seconds, from.second); s >= 0) return time_of_day{from.hour, from.minute, s}.count();
    if (const int m = lowest(r.minutes, from.minute + 1); m >= 0)
      return time_of_day{from.hour, m, first_second}.count();
  }
  const int h = lowest(r.hours, from.hour + 1);
  if (h < 0) return std::nullopt;
  return time_of_day{h, lowest(r.minutes, 0), first_second}.count();
}

std::optional<local_second> last_time(const cron_rule& r, time_of_day upto) {
  const int last_second = highest(r.seconds, 59);
  if (r.hours >> upto.hour & 1) {
    if (r.minutes >> upto.minute & 1)
      if (const int s = highest(r.seconds, upto.second); s >= 0) return time_of_day{upto.hour, upto.minute, s}.count();
    if (const int m = highest(r.minutes, upto.minute - 1); m >= 0)
      return time_of_day{upto.hour, m, last_second}.count();
  }
  const int h = highest(r.hours, upto.hour - 1);
  if (h < 0) return std::nullopt;
  return time_of_day{h, highest(r.minutes, 59), last_second}.count();
}

// A month of the local calendar.
class month {
public:
  static month of(local_second at) {
    const std::chrono::sys_days day{std::chrono::days{floor_day(at)}};
    const std::chrono::year_month_day date{day};
    return {date.year(), date.month()};
  }
  static std::int64_t floor_day(local_second at) { return (at < 0 ? at - (seconds_a_day - 1) : at) / seconds_a_day; }

  unsigned number() const { return static_cast<unsigned>(month_); }
  std::int64_t day_zero() const { return first_.time_since_epoch().count() - 1; }  // plus the day of the month
  int length() const { return length_; }

  // The nearest of `months` after this one, or before it; this one is not looked at.
  month next(std::uint32_t months) const {
    const int m = lowest(months, static_cast<int>(number()) + 1);
    return m > 0 ? month{year_, std::chrono::month(static_cast<unsigned>(m))}
                 : month{year_ + std::chrono::years{1}, std::chrono::month(static_cast<unsigned>(lowest(months, 1)))};
  }
  month previous(std::uint32_t months) const {
    const int m = highest(months, static_cast<int>(number()) - 1);
    return m > 0 ? month{year_, std::chrono::month(static_cast<unsigned>(m))}
                 : month{year_ - std::chrono::years{1}, std::chrono::month(static_cast<unsigned>(highest(months, 12)))};
  }

  // The days that `r` matches, if it matches the month.
  std::uint32_t days(const cron_rule& r) const { return days_of_month(r) & days_of_week(r); }

private:
  month(std::chrono::year y, std::chrono::month m) : year_(y), month_(m), first_(y / m / 1) {
    length_ = static_cast<int>(static_cast<unsigned>((y / m / std::chrono::last).day()));
    first_weekday_ = static_cast<int>(std::chrono::weekday(first_).c_encoding());
  }

  std::uint32_t all() const { return static_cast<std::uint32_t>((std::uint64_t{2} << length_) - 2); }
  static std::uint32_t bit(int day) { return std::uint32_t{1} << day; }

  // Never leaves the month.
  int nearest_weekday(int day) const {
    const int weekday = (first_weekday_ + day - 1) % 7;
    if (weekday == 6) return day > 1 ? day - 1 : day + 2;
    if (weekday == 0) return day < length_ ? day + 1 : day - 2;
    return day;
  }

  std::uint32_t days_of_month(const cron_rule& r) const {
    if (!r.from_end && !r.nearest_weekday) return r.days & all();
    const int day = r.from_end ? length_ - r.days_back : std::countr_zero(r.days);
    if (day < 1 || day > length_) return 0;
    return bit(r.nearest_weekday ? nearest_weekday(day) : day);
  }

  std::uint32_t days_of_week(const cron_rule& r) const {
    if (r.weekdays == all_weekdays && r.week == 0 && !r.last_week) return all();
    // From the first of the month: a week, five times.
    const auto week = ((r.weekdays >> first_weekday_) | (r.weekdays << (7 - first_weekday_))) & all_weekdays;
    constexpr std::uint64_t five_times = 1 | 1ULL << 7 | 1ULL << 14 | 1ULL << 21 | 1ULL << 28;
    auto days = static_cast<std::uint32_t>(week * five_times << 1) & all();
    if (r.week > 0) days &= all_weekdays << (7U * r.week - 6);
    if (r.last_week) days &= all_weekdays << (length_ - 6);
    return days;
  }

  std::chrono::year year_;
  std::chrono::month month_;
  std::chrono::sys_days first_;
  int length_ = 0;
  int first_weekday_ = 0;  // 0 is Sunday
};

}  // namespace

std::optional<local_second> first_match(const cron_rule& rule, local_second from, local_second end) {
  if (from >= end) return std::nullopt;
  const auto day = month::floor_day(from);
  auto m = month::of(from);
  auto days = rule.months >> m.number() & 1 ? m.days(rule) : 0;
  const int today = static_cast<int>(day - m.day_zero());
  const auto found = [&](local_second at) { return at < end ? std::optional(at) : std::nullopt; };
  if (days >> today & 1)
    if (const auto t = first_time(rule, split(from - day * seconds_a_day))) return found(day * seconds_a_day + *t);
  int d = lowest(days, today + 1);
  while (d < 0) {
    m = m.next(rule.months);
    if ((m.day_zero() + 1) * seconds_a_day >= end) return std::nullopt;
    d = lowest(m.days(rule), 1);
  }
  return found((m.day_zero() + d) * seconds_a_day + *first_time(rule, {0, 0, 0}));
}

std::optional<local_second> last_match(const cron_rule& rule, local_second upto, local_second begin) {
  if (upto < begin) return std::nullopt;
  const auto day = month::floor_day(upto);
  auto m = month::of(upto);
  auto days = rule.months >> m.number() & 1 ? m.days(rule) : 0;
  const int today = static_cast<int>(day - m.day_zero());
  const auto found = [&](local_second at) { return at >= begin ? std::optional(at) : std::nullopt; };
  if (days >> today & 1)
    if (const auto t = last_time(rule, split(upto - day * seconds_a_day))) return found(day * seconds_a_day + *t);
  int d = highest(days, today - 1);
  while (d < 0) {
    m = m.previous(rule.months);
    if ((m.day_zero() + 1 + m.length()) * seconds_a_day <= begin) return std::nullopt;
    d = highest(m.days(rule), 31);
  }
  return found((m.day_zero() + d) * seconds_a_day + *last_time(rule, {23, 59, 59}));
}

}  // namespace sluice::scheduler
