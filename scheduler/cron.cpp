#include <sluice/cron.hpp>

#include <algorithm>

#include "core/text.hpp"
#include "scheduler/cron_rule.hpp"
#include "scheduler/zone_table.hpp"

namespace sluice {
namespace {

using scheduler::cron_rule;
using scheduler::first_match;
using scheduler::instant;
using scheduler::last_match;
using scheduler::local_second;
using scheduler::zone_span;

// Local clocks are a day and a little before or after UTC at most.
constexpr local_second local_begin = scheduler::earliest - 2 * 86400;
constexpr local_second local_end = scheduler::latest + 2 * 86400;

instant whole_seconds(time_point at) { return std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count(); }
time_point from_seconds(instant at) { return time_point(std::chrono::seconds(at)); }

// Every local second that the clock has not shown yet runs once, at the first instant at which the clock shows it or
// has passed it. So a span answers for those from `reached` on, those that it jumped over too; and, for expressions
// that repeat, also for those that it shows again.
local_second answers_from(const cron_rule& rule, const zone_span& span) {
  const auto shown = span.begin + span.offset;
  return rule.repeats ? std::min(shown, span.reached) : span.reached;
}

}  // namespace

result<cron> cron::parse(std::string_view text, std::string_view name, unsigned second_when_absent) {
  auto rule = scheduler::parse_cron(text, name, second_when_absent);
  if (!rule) return rule.error();
  // Each day that there is comes within forty years, and all of them in these.
  if (!first_match(*rule, local_begin, local_end))
    return error{errc::invalid_argument,
                 cat("cron '", printable(text, 100),
                     "' never matches: no month that is named has such a day; change the day of month, the month or "
                     "the day of week")};
  return cron(std::make_shared<const cron_rule>(*rule));
}

std::string cron::text() const { return scheduler::print_cron(*rule_); }

bool cron::has_seconds() const noexcept { return rule_->has_seconds; }

std::optional<time_point> cron::next(time_point after, const time_zone& zone) const {
  const auto from = std::max(whole_seconds(after) + 1, scheduler::earliest);
  if (from >= scheduler::latest) return std::nullopt;
  const auto& spans = zone.table_->spans;
  std::optional<local_second> asked, found;  // the first match at `asked` or later
  for (auto i = zone.table_->at(from); i < spans.size(); ++i) {
    const auto& span = spans[i];
    // In the midst of a span what it jumped over has been.
    auto wanted = answers_from(*rule_, span);
    if (from > span.begin) wanted = std::max(wanted, from + span.offset);
    if (!asked || wanted < *asked || wanted > *found) {
      asked = wanted;
      found = first_match(*rule_, wanted, local_end);
      if (!found) return std::nullopt;
    }
    const auto at = std::max(*found - span.offset, span.begin);
    if (at >= scheduler::latest) return std::nullopt;
    if (i + 1 == spans.size() || at < spans[i + 1].begin) return from_seconds(at);
  }
  return std::nullopt;
}

std::optional<time_point> cron::previous(time_point upto, const time_zone& zone) const {
  auto until = std::min(whole_seconds(upto), scheduler::latest - 1);
  if (until < scheduler::earliest) return std::nullopt;
  const auto& spans = zone.table_->spans;
  std::optional<local_second> asked, found;  // the last match at `asked` or earlier
  for (auto i = zone.table_->at(until) + 1; i-- > 0;) {
    const auto& span = spans[i];
    const auto wanted = until + span.offset;
    if (!asked || wanted > *asked || wanted < *found) {
      asked = wanted;
      found = last_match(*rule_, wanted, local_begin);
      if (!found) return std::nullopt;
    }
    if (*found >= answers_from(*rule_, span)) {
      const auto at = std::max(*found - span.offset, span.begin);
      return at < scheduler::earliest ? std::nullopt : std::optional(from_seconds(at));
    }
    until = span.begin - 1;
  }
  return std::nullopt;
}

bool operator==(const cron& a, const cron& b) noexcept {
  auto left = *a.rule_;
  left.has_seconds = b.rule_->has_seconds;
  return left == *b.rule_;
}

}  // namespace sluice
