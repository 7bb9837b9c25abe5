#include "core/instant.hpp"

#include <algorithm>
#include <chrono>

namespace sluice {

std::optional<time_point> parse_time(std::string_view text) {
  static constexpr std::string_view whole = "dddd-dd-ddTdd:dd:dd", to_the_minute = "dddd-dd-ddTdd:dd";
  const auto form = text.size() == to_the_minute.size() + 1 ? to_the_minute : whole;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number = [&](std::size_t at, std::size_t size) {
    unsigned n = 0;
    for (const char c : text.substr(at, size))
      n = n * 10 + static_cast<unsigned>(c - '0');
    return n;
  };
  if (text.size() <= form.size() || text.back() != 'Z') return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] == 'd' ? !digit(text[i]) : text[i] != form[i]) return std::nullopt;
  const auto part = text.substr(form.size(), text.size() - form.size() - 1);
  if (!part.empty() && (part.front() != '.' || part.size() < 2 || part.size() > 7)) return std::nullopt;
  if (!part.empty() && !std::all_of(part.begin() + 1, part.end(), digit)) return std::nullopt;

  namespace chr = std::chrono;
  const chr::year_month_day date{chr::year(static_cast<int>(number(0, 4))), chr::month(number(5, 2)),
                                 chr::day(number(8, 2))};
  const auto hour = number(11, 2), minute = number(14, 2), second = form == whole ? number(17, 2) : 0;
  if (!date.ok() || date.year() < chr::year(1900) || date.year() > chr::year(2199)) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  duration rest{part.empty() ? 0 : number(form.size() + 1, part.size() - 1)};
  for (auto digits = part.size(); !part.empty() && digits < 7; ++digits)
    rest *= 10;
  return time_point(chr::sys_days(date)) + chr::hours(hour) + chr::minutes(minute) + chr::seconds(second) + rest;
}

}  // namespace sluice
