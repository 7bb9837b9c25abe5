// Cron as a child would do it: look at the clock every second. Shares nothing with the product: expressions are made
// together with what they mean, zones are read by the C library.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace sluice::test {

class random_numbers {
public:
  explicit random_numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}
  int below(int n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  int between(int a, int b) { return a + below(b - a + 1); }
  bool once_in(int n) { return below(n) == 0; }

private:
  std::uint64_t state_;
};

// A day of a local calendar.
struct calendar_day {
  int month = 0, day = 0, weekday = 0, last = 0;  // last: of the month

  static std::tm date_of(std::int64_t day_number) {
    const std::time_t at = day_number * 86400;
    std::tm t{};
    ::gmtime_r(&at, &t);
    return t;
  }
  static calendar_day of(std::int64_t day_number) {
    const auto t = date_of(day_number);
    int last = t.tm_mday;
    while (date_of(day_number + last + 1 - t.tm_mday).tm_mon == t.tm_mon)
      ++last;
    return {t.tm_mon + 1, t.tm_mday, t.tm_wday, last};
  }
  // The weekday nearest to day d of this month; days are tried outwards.
  int nearest_working_day(int d) const {
    if (d < 1 || d > last) return 0;
    for (int away = 0;; ++away) {
      for (const int other : {d - away, d + away}) {
        const int w = ((weekday + other - day) % 7 + 7) % 7;
        if (other >= 1 && other <= last && w != 0 && w != 6) return other;
      }
    }
  }
};

// An expression and its meaning.
class made_expression {
public:
  explicit made_expression(random_numbers& r, bool with_seconds, bool sparse = false) : r_(r) {
    if (with_seconds) text += time(seconds_, 59) + " ";
    text += time(minutes_, 59) + " ";
    text += time(hours_, 23) + " ";
    text += days(sparse) + " ";
    text += set(months_, 1, 12, sparse ? 2 : 6, 12, month_names()) + " ";
    text += weekdays(sparse);
  }

  std::string text;
  bool repeats = false;

  bool matches_day(const calendar_day& d) const { return day_(d) && months_[idx(d.month)] && weekday_(d); }
  // `second_of` is the second that an expression of five fields has.
  bool matches_time(int s, int second_of) const {
    return hours_[idx(s / 3600)] && minutes_[idx(s / 60 % 60)] &&
           (has_seconds_ ? seconds_[idx(s % 60)] : s % 60 == second_of);
  }

private:
  using numbers = std::array<bool, 64>;
  using day_rule = std::function<bool(const calendar_day&)>;
  static std::size_t idx(int n) { return static_cast<std::size_t>(n); }

  static std::vector<std::string> month_names() {
    return {"JAN", "feb", "Mar", "APR", "may", "JUN", "JUL", "aug", "SEP", "OCT", "NOV", "DEC"};
  }

  std::string time(numbers& into, int last) {
    if (&into == &seconds_) has_seconds_ = true;
    const auto field = set(into, 0, last, 3, last + 1, {});
    if (field.find_first_of("*?-/") != std::string::npos) repeats = true;
    return field;
  }

  std::string word(int n, int first, const std::vector<std::string>& names) {
    const auto at = idx(n - first);  // SUN is 0 and never 7
    return at < names.size() && r_.once_in(2) ? names[at] : std::to_string(n);
  }

  // One in `stars` is everything. Numbers go round: the one after `last` is `first`.
  std::string set(numbers& into, int first, int last, int stars, int size, const std::vector<std::string>& names) {
    const auto all = [&](int from, int to, int step) {
      for (int n = from, i = 0;; n = n == last ? first : n + 1, ++i) {
        if (i % step == 0) into[idx((n - first) % size + first)] = true;
        if (n == to) return;
      }
    };
    if (r_.below(stars) != 0) {
      switch (r_.below(6)) {
        case 0: {
          const int step = r_.between(1, last);
          all(first, last, step);
          return "*/" + std::to_string(step);
        }
        case 1: {
          const int a = r_.between(first, last), step = r_.between(1, last);
          all(a, last, step);
          return word(a, first, names) + "/" + std::to_string(step);
        }
        case 2:
        case 3: {
          // Sunday is 0 and 7, which is no place to go round.
          int a = r_.between(first, last), b = r_.between(first, last);
          if (size <= last - first) a %= size, b %= size;
          const int step = r_.once_in(2) ? 1 : r_.between(1, 5);
          if (a > b && size <= last - first) {
            for (int n = a, i = 0;; n = (n + 1) % size, ++i) {
              if (i % step == 0) into[idx(n)] = true;
              if (n == b) break;
            }
          } else {
            all(a, b, step);
          }
          return word(a, first, names) + "-" + word(b, first, names) + (step > 1 ? "/" + std::to_string(step) : "");
        }
        default: {
          std::string list;
          for (int n = r_.between(1, 3); n > 0; --n) {
            const int a = r_.between(first, last);
            all(a, a, 1);
            list += (list.empty() ? "" : ",") + word(a, first, names);
          }
          return list;
        }
      }
    }
    all(first, last, 1);
    return r_.once_in(4) ? "?" : "*";
  }

  std::string days(bool sparse) {
    if (!r_.once_in(sparse ? 2 : 4)) {
      const auto field = set(month_days_, 1, 31, sparse ? 4 : 1, 31, {});
      day_ = [this](const calendar_day& d) { return month_days_[idx(d.day)]; };
      return field;
    }
    const int n = r_.between(0, 30), day = r_.between(1, 31);
    switch (r_.below(5)) {
      case 0: day_ = [](const calendar_day& d) { return d.day == d.last; }; return "L";
      case 1: day_ = [n](const calendar_day& d) { return d.day == d.last - n; }; return "L-" + std::to_string(n);
      case 2: day_ = [](const calendar_day& d) { return d.day == d.nearest_working_day(d.last); }; return "LW";
      case 3:
        day_ = [n](const calendar_day& d) { return d.day == d.nearest_working_day(d.last - n); };
        return "L-" + std::to_string(n) + "W";
      default:
        day_ = [day](const calendar_day& d) { return d.day == d.nearest_working_day(day); };
        return std::to_string(day) + "W";
    }
  }

  std::string weekdays(bool sparse) {
    if (!r_.once_in(sparse ? 2 : 5)) {
      const auto field = set(weekdays_, 0, 7, sparse ? 2 : 1, 7, {"SUN", "Mon", "TUE", "wed", "THU", "FRI", "sat"});
      weekday_ = [this](const calendar_day& d) { return weekdays_[idx(d.weekday)]; };
      return field;
    }
    const int day = r_.between(0, 7), week = r_.between(1, 5);
    if (r_.once_in(2)) {
      weekday_ = [day](const calendar_day& d) { return d.weekday == day % 7 && d.day + 7 > d.last; };
      return std::to_string(day) + "L";
    }
    weekday_ = [=](const calendar_day& d) { return d.weekday == day % 7 && (d.day + 6) / 7 == week; };
    return std::to_string(day) + "#" + std::to_string(week);
  }

  random_numbers& r_;
  numbers seconds_{}, minutes_{}, hours_{}, month_days_{}, months_{}, weekdays_{};
  bool has_seconds_ = false;
  day_rule day_, weekday_;

public:
  made_expression(const made_expression&) = delete;  // the rules look at this one
  made_expression& operator=(const made_expression&) = delete;
};

// The offsets of a zone as the C library tells them.
class c_library_zone {
public:
  struct piece {
    std::int64_t begin;
    long offset;
  };

  c_library_zone(const std::string& name, std::int64_t from, std::int64_t to, std::int64_t stride) {
    ::setenv("TZ", (":" + name).c_str(), 1);
    ::tzset();
    pieces_.push_back({from, offset(from)});
    for (auto at = from; at < to; at += stride)
      look_between(at, at + stride);
    ::unsetenv("TZ");
    ::tzset();
  }

  const std::vector<piece>& pieces() const { return pieces_; }

  // Calls take(second in UTC, second of the local clock) for every `step` seconds from `from` to before `to`.
  template <class Take>
  void walk(std::int64_t from, std::int64_t to, int step, Take take) const {
    std::size_t i = 0;
    for (auto at = from; at < to; at += step) {
      while (i + 1 < pieces_.size() && pieces_[i + 1].begin <= at)
        ++i;
      take(at, at + pieces_[i].offset);
    }
  }

private:
  static long offset(std::time_t at) {
    std::tm t{};
    ::localtime_r(&at, &t);
    return t.tm_gmtoff;
  }

  void look_between(std::int64_t a, std::int64_t b) {
    while (offset(b) != pieces_.back().offset) {
      auto low = a, high = b;
      while (high - low > 1) {
        const auto middle = low + (high - low) / 2;
        (offset(middle) == pieces_.back().offset ? low : high) = middle;
      }
      pieces_.push_back({high, offset(high)});
      a = high;
    }
  }

  std::vector<piece> pieces_;
};

// All occurrences from `from` to before `to`. The clock is looked at from a day and more before that, since it may show
// times of another day again.
inline std::vector<std::int64_t> by_brute_force(const made_expression& e, const c_library_zone& zone, std::int64_t from,
                                                std::int64_t to, int second_of, int step = 1) {
  std::vector<std::int64_t> found;
  std::int64_t day_number = INT64_MIN;
  bool day_matches = false;
  const auto matches = [&](std::int64_t local) {
    const auto day = (local - ((local % 86400) + 86400) % 86400) / 86400;
    if (day != day_number) {
      day_number = day;
      day_matches = e.matches_day(calendar_day::of(day));
    }
    return day_matches && e.matches_time(static_cast<int>(local - day * 86400), second_of);
  };
  // With a step of a minute both are whole minutes and so are changes of the clock.
  const auto in_step = [&](std::int64_t local) { return matches(step == 1 ? local : local + second_of); };
  std::int64_t reached = INT64_MIN;  // the clock has shown all before this
  zone.walk(from - 28 * 3600, to, step, [&](std::int64_t at, std::int64_t local) {
    bool runs = false;
    std::int64_t when = at;
    if (local < reached) {
      runs = e.repeats && in_step(local);
      if (runs && step > 1) when = at + second_of;
    } else {
      for (auto skipped = reached; reached != INT64_MIN && skipped < local && !runs; skipped += step)
        runs = in_step(skipped);
      if (runs && at >= from) found.push_back(when);
      const bool now = in_step(local);
      when = step > 1 ? at + second_of : at;
      runs = now && !(runs && when == at);
      reached = local + step;
    }
    if (runs && at >= from) found.push_back(when);
  });
  return found;
}

}  // namespace sluice::test
