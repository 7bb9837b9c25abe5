#include "wire/json.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <sluice/cron.hpp>

#include "core/text.hpp"

namespace sluice::wire {

std::optional<progress_report> progress_of(const job& j) {
  const bool is_behind = j.state == job_state::succeeded && j.progress && j.progress->done < 1;
  return is_behind ? std::nullopt : j.progress;
}

std::string local_text(time_point at, std::chrono::seconds offset, std::size_t letters) {
  const auto size = static_cast<int>(std::abs(offset.count()));
  std::array<char, 16> tail{};
  std::snprintf(tail.data(), tail.size(), "%c%02d:%02d", offset.count() < 0 ? '-' : '+', size / 3600, size / 60 % 60);
  auto text = format_time(at + offset).substr(0, letters) + tail.data();
  if (size % 60 == 0) return text;
  std::snprintf(tail.data(), tail.size(), ":%02d", size % 60);
  return text + tail.data();
}

std::vector<local_instant> next_runs(const recurring_outlook& o) {
  const auto zone = time_zone::find(o.status.definition ? o.status.definition->zone : "UTC");
  std::vector<local_instant> all;
  for (const auto at : o.next)
    all.push_back({at, zone ? std::optional(local_text(at, zone->offset_at(at), 23)) : std::nullopt});
  return all;
}

std::vector<std::string> json_lines(const std::string& queue, const totals_report& report) {
  std::vector<std::string> lines{json_of(totals_line{unless_empty(queue), std::nullopt, report.ever})};
  for (const auto& row : report.rows)
    lines.push_back(json_of(totals_line{unless_empty(queue), row.begins, row.in_it}));
  return lines;
}

namespace {

std::string two_texts(std::string_view name, std::string_view text, std::string_view other, std::string_view behind) {
  std::string all;
  json_object o(all, {});
  o(name, text)(other, behind);
  o.close();
  return all;
}

}  // namespace

std::string json_done(std::string_view name, std::string_view what, std::string_view done) {
  return two_texts(name, what, "done", done);
}
std::string json_triggered(std::string_view name, const job_id& id) { return two_texts("name", name, "id", id.value); }
std::string json_fault(std::string_view pointer, std::string_view problem) {
  return two_texts("pointer", pointer, "problem", problem);
}

}  // namespace sluice::wire
