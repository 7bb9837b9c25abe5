#include "scheduler/recurrence.hpp"

#include <algorithm>

#include "core/pipeline.hpp"
#include "core/ranges.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"

namespace sluice::scheduler {
namespace {

using namespace std::chrono_literals;

constexpr duration minute = 1min;

// Names that differ by little must not stand close together.
std::uint64_t mixed(std::uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53ULL;
  return h ^ (h >> 33);
}

// Both are told when both are wrong.
result<void> check_cron_and_zone(const recurring& r) {
  const auto expression = cron::parse(r.cron, r.name);
  const auto zone = time_zone::find(r.zone);
  if (expression) return zone ? result<void>() : result<void>(zone.error());
  return zone ? expression.error() : invalid(cat(expression.error().message, "; and ", zone.error().message));
}

result<void> check_timing(const recurring& r) {
  if (!ranges::catch_up_max.contains(r.catch_up_max)) return invalid("catch_up_max must be 1 to 1000");
  if (r.cron.empty() == (r.every == duration::zero()))
    return invalid("cron or every must be given, and not both: cron \"*/10 * * * *\", or every \"90s\"");
  if (r.cron.empty()) {
    if (!ranges::recurring_every.contains(r.every) || r.every % 1ms != duration::zero())
      return invalid("every must be 1 s to 366 days, in whole milliseconds");
    if (r.zone != "UTC") return invalid("zone has no effect with every; remove it");
    return {};
  }
  if (auto fine = check_cron_and_zone(r); !fine) return fine;
  if (r.stagger == stagger_rule::even && span_of(r) == duration::zero())
    return invalid("stagger is \"even\", but the cron expression has seconds and says itself when it runs; remove one");
  return {};
}

result<void> check_names(const recurring& r) {
  if (!valid_schedule_name(r.name))
    return invalid(cat("the name '", printable(r.name, 60), "' must be 1 to 150 characters of A-Z a-z 0-9 _ . : -"));
  if (r.job.empty()) return invalid("job must be given: the type of its jobs");
  if (auto fine = check_name("job", r.job.value); !fine) return fine;
  return r.queue.empty() ? result<void>() : check_name("queue", r.queue.value);
}

result<void> check_args(const recurring& r) {
  if (r.args.size() > max_recurring_args_bytes)
    return error{errc::too_large, cat("args have ", r.args.size(), " bytes; at most ", max_recurring_args_bytes,
                                      " of a schedule's are stored")};
  if (auto json = check_json(r.args, max_json_depth); !json) return invalid("args: " + json.error().message);
  if (const auto first = r.args.find_first_not_of(" \t\r\n"); r.args[first] != '{')
    return invalid("args must be a JSON object");
  return {};
}

result<void> check_own_headers(const recurring& r) {
  auto headers = r.headers;
  for (const auto* own : {recurring_header, occurrence_header}) {
    if (headers.contains(own))
      return invalid(cat("header '", own, "' is Sluice's own: it says of which schedule a job is"));
    headers[own] = r.name;
  }
  return check_headers(headers);
}

}  // namespace

result<void> check(const recurring& r) {
  std::optional<error> wrong;
  for (const auto& one : {check_names(r), check_args(r), check_own_headers(r), check_timing(r)}) {
    if (one) continue;
    if (!wrong) wrong = one.error();
    else wrong->message += "; and " + one.error().message;
  }
  return wrong ? result<void>(*wrong) : result<void>();
}

duration span_of(const recurring& r) {
  if (r.cron.empty()) return std::min(r.every, minute);
  const auto parsed = cron::parse(r.cron, r.name);
  return parsed && !parsed->has_seconds() ? minute : duration::zero();
}

duration offset_by_name(const std::string& name, duration span) {
  const auto seconds = static_cast<std::uint64_t>(span / 1s);
  return seconds == 0 ? duration::zero() : duration(1s) * static_cast<std::int64_t>(mixed(fnv1a(name)) % seconds);
}

duration middle_of_largest_gap(const std::vector<storage::schedule_place>& taken, duration span) {
  std::vector<duration> points;
  for (const auto& place : taken) {
    if (place.span <= duration::zero()) continue;
    // One that comes back sooner takes several points.
    for (auto at = place.offset % place.span; at < std::max(span, place.span); at += place.span)
      points.push_back(at % span);
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.empty()) return duration::zero();
  points.push_back(points.front() + span);  // the gap over the end
  duration from = points[0], largest{0};
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i] - points[i - 1] > largest) {
      largest = points[i] - points[i - 1];
      from = points[i - 1];
    }
  return std::chrono::floor<std::chrono::milliseconds>(from + largest / 2) % span;
}

result<recurrence> recurrence::of(const recurring& r, const std::optional<storage::schedule_place>& place) {
  recurrence all;
  if (r.cron.empty()) {
    if (r.every <= duration::zero()) return invalid("there is neither cron nor every");
    all.every_ = r.every;
  } else {
    auto parsed = cron::parse(r.cron, r.name);
    if (!parsed) return parsed.error();
    auto zone = time_zone::find(r.zone);
    if (!zone) return zone.error();
    all.expression_ = std::move(*parsed);
    all.zone_ = std::move(*zone);
  }
  // Behind the occurrences as they are written, so that what the zone moves is staggered too.
  const bool has_seconds = all.expression_ && all.expression_->has_seconds();
  if (r.stagger == stagger_rule::by_name && !has_seconds) all.offset_ = offset_by_name(r.name, span_of(r));
  if (r.stagger == stagger_rule::even && place) all.offset_ = place->offset;
  return all;
}

std::optional<time_point> recurrence::next(time_point after) const {
  if (!expression_) {
    const auto since = after.time_since_epoch() - offset_;
    return time_point(since - (since % every_ + every_) % every_ + every_ + offset_);
  }
  const auto found = expression_->next(after - offset_, zone_);
  return found ? std::optional(*found + offset_) : std::nullopt;
}

std::optional<time_point> recurrence::previous(time_point upto) const {
  if (!expression_) return *next(upto) - every_;
  const auto found = expression_->previous(upto - offset_, zone_);
  return found ? std::optional(*found + offset_) : std::nullopt;
}

occurrences due_of(const recurrence& all, const recurring& rules, time_point mark, time_point now) {
  occurrences due{{}, mark, all.next(mark)};
  if (!due.next || *due.next > now) return due;
  const auto newest = all.previous(now);
  const auto is_missed = [&](time_point at) {
    if (now - at <= on_time) return false;
    if (rules.catch_up == catch_up_rule::all) return due.enqueue.size() >= rules.catch_up_max;
    return rules.catch_up == catch_up_rule::none || !due.enqueue.empty();
  };
  for (auto at = newest; at && *at > mark && !is_missed(*at); at = all.previous(*at - 1us))
    due.enqueue.push_back(*at);
  std::reverse(due.enqueue.begin(), due.enqueue.end());
  due.mark = newest ? std::max(*newest, mark) : now;
  if (due.enqueue.size() > occurrences_a_step) {
    due.enqueue.resize(occurrences_a_step);
    due.mark = due.enqueue.back();
  }
  due.next = all.next(due.mark);
  return due;
}

}  // namespace sluice::scheduler
