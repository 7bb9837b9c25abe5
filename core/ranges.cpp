#include "core/ranges.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/instant.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice {
namespace {

result<void> within(const ranges::range<duration>& allowed, duration value, const std::string& what) {
  if (allowed.contains(value)) return {};
  return invalid(cat(what, " must be ", with_days(allowed.least), " to ", with_days(allowed.most)));
}

result<void> within(const ranges::range<std::uint64_t>& allowed, std::uint64_t value, const std::string& what) {
  if (allowed.contains(value)) return {};
  return invalid(cat(what, " must be ", allowed.least, " to ", allowed.most));
}

// All that is wrong, a line each.
result<void> all_of(const std::vector<result<void>>& checks) {
  std::string wrong;
  for (const auto& one : checks)
    if (!one) wrong += cat(wrong.empty() ? "" : "\n", one.error().message);
  return wrong.empty() ? result<void>() : invalid(std::move(wrong));
}

// start_within and finish_within, of a queue or a type.
template <class Options>
result<void> check_times(const Options& o, const std::string& where) {
  return all_of({within(ranges::within_of_all, o.start_within.value_or(1s), where + "start_within"),
                 within(ranges::within_of_all, o.finish_within.value_or(1s), where + "finish_within")});
}

result<void> check_queue(const std::string& name, const queue_options& q) {
  std::string plain = name;
  std::replace(plain.begin(), plain.end(), '*', 'x');
  if (!valid_name(plain)) return invalid(cat("queue '", printable(name, 60), "' ", name_rule, ", or a pattern with *"));
  const auto where = cat("queue ", name, ": ");
  return all_of({q.workers == 0 ? result<void>() : within(ranges::workers, q.workers, where + "workers"),
                 within(ranges::prefetch, q.prefetch, where + "prefetch"), check(q.retry, where + "retry"),
                 check_timeout(q.timeout, where + "timeout"), check_times(q, where)});
}

result<void> check_type(const std::string& type, const type_options& t) {
  const auto where = cat("jobs.", type, ".");
  const auto are_few = within(ranges::throttlers_of_type, t.throttle.size(), where + "throttle: their number");
  std::vector<result<void>> checks{check(t.retry, where + "retry"), check_timeout(t.timeout, where + "timeout"),
                                   check_times(t, where), are_few,
                                   within(ranges::throttle_delay, t.throttle_delay, where + "throttle_delay")};
  throttle_list list;
  for (std::size_t i = 0; are_few && i < t.throttle.size(); ++i)
    if (const auto known = list.add(t.throttle[i]); !known)
      checks.emplace_back(invalid(cat(where, "throttle[", i, "] ", known.error().message)));
  if (t.unique) checks.push_back(check(*t.unique, where + "unique"));
  if (t.without_overlap)
    if (const auto sound = overlap_template(type, *t.without_overlap); !sound)
      checks.emplace_back(invalid(cat(where, "without_overlap ", sound.error().message)));
  return all_of(checks);
}

result<void> check_throttlers(const std::vector<throttler>& all) {
  std::set<std::string> known;
  std::vector<result<void>> checks;
  for (const auto& t : all) {
    checks.push_back(check(t));
    if (checks.back() && !known.insert(resource_of(t.kind, t.name)).second)
      checks.emplace_back(invalid(
          cat("throttler ", t.name, ": another ", name_of(t.kind), " has this name, in which case does not count")));
  }
  return all_of(checks);
}

result<void> check_renewal(const server_options& o) {
  if (o.renew_every == 0s) return {};
  if (!ranges::renew_every.contains(o.renew_every)) return within(ranges::renew_every, o.renew_every, "renew_every");
  return o.renew_every > o.lease / 2 ? invalid("renew_every must be at most half of the lease") : result<void>();
}

}  // namespace

result<void> check_name(std::string_view what, std::string_view name) {
  if (valid_name(name)) return {};
  return invalid(cat(what, " '", printable(name, 60), "' ", name_rule));
}

result<void> check(const retry_policy& retry, const std::string& where) {
  if (retry.jitter && !(*retry.jitter >= 0 && *retry.jitter <= 1)) return invalid(where + ".jitter must be 0 to 1");
  return all_of({within(ranges::attempts, retry.attempts.value_or(0), where + ".attempts"),
                 within(ranges::retry_delay, retry.delay.value_or(0s), where + ".delay"),
                 within(ranges::retry_delay, retry.max_delay.value_or(0s), where + ".max_delay")});
}

result<void> check(const unique_rule& rule, const std::string& where) {
  if (rule.until == unique_until::period && !ranges::unique_period.contains(rule.period))
    return invalid(where + ": the period must be 1 ms to 10 years");
  if (rule.at_most < duration(0)) return invalid(where + ": at_most must not be negative");
  if (rule.at_most > duration(0) && rule.then != when_taken::extend)
    return invalid(where + ": at_most is of extend: say then = extend, or leave it out");
  if (rule.then == when_taken::coalesce && rule.until != unique_until::end)
    return invalid(where + ": coalesce needs a key that is held until the end");
  if (rule.by.empty() || rule.by == "*") return {};
  const auto parsed = parse_unique_template(rule.by);
  return parsed ? result<void>() : invalid(cat(where, ".by ", parsed.error().message));
}

result<void> check_timeout(const std::optional<duration>& timeout, const std::string& where) {
  return timeout ? within(ranges::timeout, *timeout, where) : result<void>();
}

result<void> check(const new_group& group) {
  if (auto fine = check_name("group", group.name.value); !fine) return fine;
  if (!group.in.empty())
    if (auto fine = check_name("group", group.in.value); !fine) return fine;
  return within(ranges::seal_within, group.seal_within, "seal_within");
}

result<void> check(const server_options& o) {
  std::vector<result<void>> checks{o.queues.empty() ? invalid("queues: name at least one") : result<void>(),
                                   o.server_name.empty() ? result<void>() : check_name("server_name", o.server_name),
                                   check_renewal(o),
                                   within(ranges::lease, o.lease, "lease"),
                                   within(ranges::grace, o.grace, "grace"),
                                   within(ranges::max_losses, o.max_losses, "max_losses"),
                                   within(ranges::sweep_interval, o.sweep_interval, "sweep_interval"),
                                   within(ranges::workers, o.special_queue_workers, "special_queue_workers"),
                                   o.threads == 0 ? result<void>() : within(ranges::threads, o.threads, "threads"),
                                   check(o.retry, "retry"),
                                   check_timeout(o.timeout, "timeout")};
  for (const auto& [name, q] : o.queues)
    checks.push_back(check_queue(name, q));
  for (const auto& [type, t] : o.jobs)
    checks.push_back(check_type(type, t));
  checks.push_back(check_throttlers(o.throttlers));
  return all_of(checks);
}

}  // namespace sluice
