// When an expression runs.
#include <sluice/cron.hpp>

#include <array>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/clock.hpp"
#include "core/instant.hpp"
#include "core/text.hpp"

namespace sluice::cli {
namespace {

std::string utc_text(time_point at) { return format_time(at).substr(0, 19) + "Z"; }

// With its offset, "2026-03-08T03:00:00-04:00"; before there were zones, an offset has seconds.
std::string local_text(time_point at, std::chrono::seconds offset) {
  const auto size = static_cast<int>(std::abs(offset.count()));
  std::array<char, 16> tail{};
  std::snprintf(tail.data(), tail.size(), "%c%02d:%02d", offset.count() < 0 ? '-' : '+', size / 3600, size / 60 % 60);
  auto text = format_time(at + offset).substr(0, 19) + tail.data();
  if (size % 60 == 0) return text;
  std::snprintf(tail.data(), tail.size(), ":%02d", size % 60);
  return text + tail.data();
}

}  // namespace

int show_cron(const command& c) {
  const auto from = c.from.empty() ? std::optional(system_clock().now()) : parse_time(c.from);
  if (!from) {
    return wrong_words(cat("--from is an instant of 1900 to 2199 in UTC, as 2026-03-08T00:00:00Z; not '",
                           printable(c.from, 100), "'"));
  }
  const auto when = cron::parse(c.expression, c.schedule);
  if (!when) return failed(when.error());
  const auto zone = time_zone::find(c.zone);
  if (!zone) return failed(zone.error());
  table shown({"UTC", "LOCAL"});
  auto at = when->next(*from, *zone);
  for (unsigned n = 0; n < c.count && at; ++n, at = when->next(*at, *zone)) {
    const auto local = local_text(*at, zone->offset_at(*at));
    if (c.json) print_line(cat("{\"utc\":", json_quoted(utc_text(*at)), ",\"local\":", json_quoted(local), "}"));
    else shown.add({utc_text(*at), local});
  }
  if (!c.json) print(shown.text());
  return 0;
}

}  // namespace sluice::cli
