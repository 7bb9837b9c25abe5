#include "scheduler/zone_rule.hpp"

#include <chrono>

namespace sluice::scheduler {

namespace chr = std::chrono;

// Each step answers whether it found what it wants.
class zone_rule_reader {
public:
  explicit zone_rule_reader(std::string_view text) : rest_(text) {}

  bool read(zone_rule& r) {
    if (!name() || !offset(r.standard_)) return false;
    if (rest_.empty()) return true;
    r.changes_ = true;
    r.summer_ = r.standard_ + 3600;
    if (!name() || (!rest_.empty() && rest_.front() != ',' && !offset(r.summer_))) return false;
    return take(',') && day(r.begin_) && take(',') && day(r.end_) && rest_.empty();
  }

private:
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool name() {
    std::size_t n = 0;
    if (take('<')) {
      n = rest_.find('>');
      if (n == std::string_view::npos) return false;
      rest_.remove_prefix(n + 1);
      return n > 0;
    }
    while (n < rest_.size() && letter(rest_[n]))
      ++n;
    rest_.remove_prefix(n);
    return n > 0;
  }

  bool number(int least, int most, int& n) {
    if (rest_.empty() || !digit(rest_.front())) return false;
    n = 0;
    for (; !rest_.empty() && digit(rest_.front()) && n <= most; rest_.remove_prefix(1))
      n = n * 10 + (rest_.front() - '0');
    return n >= least && n <= most;
  }

  // [+-]h[h[h]][:mm[:ss]]
  bool time(int max_hours, std::int32_t& seconds) {
    const bool negative = take('-');
    if (!negative) take('+');
    int h = 0, m = 0, s = 0;
    if (!number(0, max_hours, h)) return false;
    if (take(':') && (!number(0, 59, m) || (take(':') && !number(0, 59, s)))) return false;
    seconds = (h * 60 + m) * 60 + s;
    if (negative) seconds = -seconds;
    return true;
  }

  // West of Greenwich is positive there.
  bool offset(std::int32_t& seconds) {
    if (!time(24, seconds)) return false;
    seconds = -seconds;
    return true;
  }

  bool day(zone_rule::day& d) {
    using kind = zone_rule::day_kind;
    bool read = false;
    if (take('J')) {
      d.kind = kind::julian;
      read = number(1, 365, d.number);
    } else if (take('M')) {
      d.kind = kind::weekday;
      read = number(1, 12, d.month) && take('.') && number(1, 5, d.week) && take('.') && number(0, 6, d.weekday);
    } else {
      d.kind = kind::counted;
      read = number(0, 365, d.number);
    }
    return read && (!take('/') || time(167, d.time));
  }

  std::string_view rest_;
};

std::optional<zone_rule> zone_rule::read(std::string_view text) {
  zone_rule r;
  return zone_rule_reader(text).read(r) ? std::optional(r) : std::nullopt;
}

instant zone_rule::day::in(int in_year) const {
  const chr::year y{in_year};
  chr::sys_days date{y / chr::January / 1};
  if (kind == day_kind::counted) {
    date += chr::days{number};
  } else if (kind == day_kind::julian) {
    date += chr::days{number - 1 + (y.is_leap() && number > 59 ? 1 : 0)};
  } else {
    const chr::month m{static_cast<unsigned>(month)};
    const chr::weekday w{static_cast<unsigned>(weekday)};
    date = week == 5 ? chr::sys_days{y / m / w[chr::last]} : chr::sys_days{y / m / w[static_cast<unsigned>(week)]};
  }
  return chr::sys_seconds{date}.time_since_epoch().count() + time;
}

std::array<zone_change, 2> zone_rule::of_year(int year) const {
  const zone_change begin{begin_.in(year)-standard_, summer_};
  const zone_change end{end_.in(year)-summer_, standard_};
  if (begin.at <= end.at) return {begin, end};
  return {end, begin};
}

}  // namespace sluice::scheduler
