#include "core/ranges.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace sluice {
namespace {

error bad(std::string what) { return {errc::invalid_argument, std::move(what)}; }

result<void> within(const ranges::range<duration>& allowed, duration value, const std::string& what) {
  if (allowed.contains(value)) return {};
  return bad(cat(what, " must be ", format_duration(allowed.least), " to ", format_duration(allowed.most)));
}

result<void> within(const ranges::range<std::uint64_t>& allowed, std::uint64_t value, const std::string& what) {
  if (allowed.contains(value)) return {};
  return bad(cat(what, " must be ", allowed.least, " to ", allowed.most));
}

// The first that is wrong.
result<void> all_of(std::initializer_list<result<void>> checks) {
  const auto wrong = std::find_if(checks.begin(), checks.end(), [](const auto& c) { return !c; });
  return wrong == checks.end() ? result<void>() : *wrong;
}

result<void> check_queue(const std::string& name, const queue_options& q) {
  std::string plain = name;
  std::replace(plain.begin(), plain.end(), '*', 'x');
  if (!valid_name(plain)) return bad(cat("queue '", printable(name, 60), "' is no queue name or pattern"));
  const auto where = cat("queue ", name, ": ");
  return all_of({q.workers == 0 ? result<void>() : within(ranges::workers, q.workers, where + "workers"),
                 within(ranges::prefetch, q.prefetch, where + "prefetch"), check(q.retry, where + "retry"),
                 check_timeout(q.timeout, where + "timeout")});
}

}  // namespace

result<void> check(const retry_policy& retry, const std::string& where) {
  if (retry.jitter && !(*retry.jitter >= 0 && *retry.jitter <= 1)) return bad(where + ".jitter must be 0 to 1");
  return all_of({within(ranges::attempts, retry.attempts.value_or(0), where + ".attempts"),
                 within(ranges::retry_delay, retry.delay.value_or(0s), where + ".delay"),
                 within(ranges::retry_delay, retry.max_delay.value_or(0s), where + ".max_delay")});
}

result<void> check_timeout(const std::optional<duration>& timeout, const std::string& where) {
  return timeout ? within(ranges::timeout, *timeout, where) : result<void>();
}

result<void> check(const server_options& o) {
  if (o.queues.empty()) return bad("queues: name at least one");
  if (!o.server_name.empty() && !valid_name(o.server_name))
    return bad(
        cat("server_name '", printable(o.server_name, 60), "' must be 1 to 200 characters of A-Z a-z 0-9 _ . : -"));
  if (o.renew_every != 0s && !ranges::renew_every.contains(o.renew_every))
    return within(ranges::renew_every, o.renew_every, "renew_every");
  if (o.renew_every > o.lease / 2) return bad("renew_every must be at most half of the lease");
  auto fine = all_of({within(ranges::lease, o.lease, "lease"), within(ranges::grace, o.grace, "grace"),
                      within(ranges::max_losses, o.max_losses, "max_losses"),
                      within(ranges::sweep_interval, o.sweep_interval, "sweep_interval"),
                      within(ranges::workers, o.special_queue_workers, "special_queue_workers"),
                      check(o.retry, "retry"), check_timeout(o.timeout, "timeout")});
  for (const auto& [name, q] : o.queues)
    if (fine) fine = check_queue(name, q);
  for (const auto& [type, t] : o.jobs)
    if (fine)
      fine = all_of(
          {check(t.retry, cat("jobs.", type, ".retry")), check_timeout(t.timeout, cat("jobs.", type, ".timeout"))});
  return fine;
}

}  // namespace sluice
