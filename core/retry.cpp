#include "core/retry.hpp"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t default_attempts = 10;
constexpr double default_jitter = 0.1;
constexpr duration default_fixed_delay = 15s;
constexpr duration default_max_delay = 1h;
constexpr duration longest_delay = 24h * 365;

template <class T>
void fill(std::optional<T>& field, const std::optional<T>& wider) {
  if (!field) field = wider;
}

duration delay_after(const retry_policy& policy, std::uint32_t failures, double roll) {
  const double n = failures;
  // A delay without a word about its growth is a fixed one.
  const backoff kind = policy.backoff.value_or(policy.delay ? backoff::fixed : backoff::polynomial);
  const duration base = policy.delay.value_or(default_fixed_delay);
  duration delay{0};
  switch (kind) {
    case backoff::polynomial:
      delay = std::chrono::seconds(std::llround(std::pow(std::min(n, 1000.0) - 1, 4) + 15 + std::floor(roll * 30) * n));
      break;
    case backoff::fixed: delay = base; break;
    case backoff::exponential: {
      const double cap = static_cast<double>(policy.max_delay.value_or(default_max_delay).count());
      const double grown = std::min(cap, static_cast<double>(base.count()) * std::pow(2.0, std::min(n - 1, 60.0)));
      delay = duration(std::llround(grown * (1 - roll * policy.jitter.value_or(default_jitter))));
      break;
    }
  }
  return std::min(delay, policy.max_delay.value_or(longest_delay));
}

}  // namespace

retry_policy narrowest(std::initializer_list<const retry_policy*> from_narrow_to_wide) {
  retry_policy merged;
  for (const auto* policy : from_narrow_to_wide) {
    // A narrower policy that sets only a delay means that delay, not a wider one's growth of it.
    if (!merged.backoff && !merged.delay) merged.backoff = policy->backoff;
    fill(merged.attempts, policy->attempts);
    fill(merged.delay, policy->delay);
    fill(merged.max_delay, policy->max_delay);
    fill(merged.jitter, policy->jitter);
    fill(merged.then, policy->then);
  }
  return merged;
}

retry_decision decide_retry(const retry_policy& policy, std::uint32_t failures, double roll) {
  retry_decision decision;
  decision.attempts = policy.attempts.value_or(default_attempts);
  decision.otherwise = policy.then.value_or(when_exhausted::fail);
  decision.again = failures <= decision.attempts;
  if (decision.again) decision.delay = delay_after(policy, failures, roll);
  return decision;
}

}  // namespace sluice
