#include <bit>
#include <vector>

#include "scheduler/cron_rule.hpp"

namespace sluice::scheduler {
namespace {

std::vector<int> numbers(std::uint64_t set) {
  std::vector<int> all;
  for (; set; set &= set - 1)
    all.push_back(std::countr_zero(set));
  return all;
}

std::string list(const std::vector<int>& all) {
  std::string text;
  for (const int n : all)
    text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

// Runs of three and more as ranges.
std::string ranges(const std::vector<int>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    while (end < all.size() && all[end] == all[end - 1] + 1)
      ++end;
    if (end - i < 3) end = i + 1;
    text += (text.empty() ? "" : ",") + std::to_string(all[i]);
    if (end - i > 1) text += "-" + std::to_string(all[end - 1]);
    i = end;
  }
  return text;
}

// "*/10", "5/10", "10-40/10" for three and more numbers at a distance of two and more; else empty.
std::string steps(const std::vector<int>& all, int first, int last) {
  if (all.size() < 3) return {};
  const int step = all[1] - all[0];
  for (std::size_t i = 1; i < all.size(); ++i)
    if (step < 2 || all[i] - all[i - 1] != step) return {};
  const auto by = "/" + std::to_string(step);
  if (all.back() + step <= last) return std::to_string(all.front()) + "-" + std::to_string(all.back()) + by;
  return (all.front() == first ? "*" : std::to_string(all.front())) + by;
}

std::string set(std::uint64_t of, int first, int last) {
  const auto all = numbers(of);
  if (static_cast<int>(all.size()) == last - first + 1) return "*";
  const auto stepped = steps(all, first, last);
  return stepped.empty() ? ranges(all) : stepped;
}

std::string days(const cron_rule& r) {
  if (!r.from_end) return set(r.days, 1, 31) + (r.nearest_weekday ? "W" : "");
  return "L" + (r.days_back ? "-" + std::to_string(r.days_back) : std::string()) + (r.nearest_weekday ? "W" : "");
}

std::string weekdays(const cron_rule& r) {
  auto text = set(r.weekdays, 0, 6);
  // As a field has it, N/n goes on to 7, which is Sunday.
  if (text.find('/') != std::string::npos && text.front() != '*' && text.find('-') == std::string::npos)
    text = list(numbers(r.weekdays));
  if (r.week) text += "#" + std::to_string(r.week);
  return r.last_week ? text + "L" : text;
}

bool repeating(const std::string& field) { return field.find_first_of("*-/") != std::string::npos; }

}  // namespace

std::string print_cron(const cron_rule& r) {
  const auto time = [&](std::uint64_t of, int last) { return r.repeats ? set(of, 0, last) : list(numbers(of)); };
  const auto second = time(r.seconds, 59), hour = time(r.hours, 23);
  auto minute = time(r.minutes, 59);
  // A range of one number, as 5-5, repeats too.
  if (r.repeats && !repeating(second) && !repeating(minute) && !repeating(hour)) {
    const auto number = minute.substr(0, minute.find(','));
    minute.insert(number.size(), "-" + number);
  }
  const bool five = !r.has_seconds && r.seconds == 1;
  return (five ? "" : second + " ") + minute + " " + hour + " " + days(r) + " " + set(r.months, 1, 12) + " " +
         weekdays(r);
}

}  // namespace sluice::scheduler
