// When an expression runs.
#include <sluice/cron.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/clock.hpp"
#include "core/instant.hpp"
#include "core/text.hpp"
#include "wire/json.hpp"

namespace sluice::cli {
namespace {

std::string utc_text(time_point at) { return format_time(at).substr(0, 19) + "Z"; }

}  // namespace

int show_cron(const command& c) {
  const auto from = c.from.empty() ? std::optional(system_clock().now()) : parse_time(c.from);
  if (!from) return usage_error(cat("--from ", no_instant(c.from)));
  const auto when = cron::parse(c.expression, c.schedule);
  if (!when) return failed(when.error());
  if (!c.schedule.empty() && cron::parse(c.expression))
    note("--name has no effect: it decides what H stands for, and the expression has none");
  const auto zone = time_zone::find(c.zone);
  if (!zone) return failed(zone.error());
  table shown({"UTC", "LOCAL"});
  auto at = when->next(*from, *zone);
  for (unsigned n = 0; n < c.count.value_or(10) && at; ++n, at = when->next(*at, *zone)) {
    const auto local = wire::local_text(*at, zone->offset_at(*at), 19);
    if (c.json) print_line(cat("{\"utc\":", json_quoted(utc_text(*at)), ",\"local\":", json_quoted(local), "}"));
    else shown.add({utc_text(*at), local});
  }
  if (!c.json) print(shown.text());
  return 0;
}

}  // namespace sluice::cli
