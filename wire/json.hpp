// What is known, as JSON: one object in one line. The API and `sluice --json` say it in the same words, which are those
// of wire/shown.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/shown.hpp"

namespace sluice::wire {

// Without content: no args, headers, results and error texts.
template <class T>
std::string json_of(const T& value, bool with_content = true) {
  return json_for({.sees_content = with_content}, value);
}
// With what is told of one thing alone.
template <class T>
std::string json_page(const T& value, bool with_content = true) {
  return json_for({.sees_content = with_content, .sees_details = true}, value);
}
// Those since ever at first.
std::vector<std::string> json_lines(const std::string& queue, const totals_report& report);

// What a change did to something: {"NAME":"WHAT","done":"DONE"}.
std::string json_done(std::string_view name, std::string_view what, std::string_view done);
std::string json_triggered(std::string_view name, const job_id& id);
std::string json_fault(std::string_view pointer, std::string_view problem);

// With its offset, "2026-03-08T03:00:00-04:00"; before there were zones, an offset has seconds. So many digits and
// marks before the offset: 19 to the second, 23 to the millisecond.
std::string local_text(time_point at, std::chrono::seconds offset, std::size_t letters);

}  // namespace sluice::wire
