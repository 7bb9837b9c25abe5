/// When a failed run is tried again, and what happens when it is not.
#pragma once

#include <optional>

#include <sluice/types.hpp>

namespace sluice {

/// How the delay grows with the number of failed runs n (1 after the first).
enum class backoff : std::uint8_t {
  polynomial,   ///< Hangfire's: (n-1)^4 + 15 + random[0, 30) * n seconds: 15 s to about 2 h.
  fixed,        ///< `delay` each time.
  exponential,  ///< `delay` * 2^(n-1), at most `max_delay`, less a random part of `jitter`.
};

/// What becomes of a job whose retries are used up.
enum class when_exhausted : std::uint8_t { fail, remove };

/// Every field may be left out; what is left out is taken from the next wider policy: the job's own,
/// its type's, its queue's, the server's, the default (10 retries, polynomial, then fail).
struct retry_policy {
  std::optional<std::uint32_t> attempts{};  ///< Retries after the first run, 0 to 1000.
  std::optional<sluice::backoff> backoff{};
  std::optional<duration> delay{};      ///< 0 to 365 days. A delay alone means `fixed`.
  std::optional<duration> max_delay{};  ///< Caps any backoff; exponential default: 1 h.
  std::optional<double> jitter{};       ///< 0 to 1: how much of the delay is random. Default 0.1.
  std::optional<when_exhausted> then{};

  bool operator==(const retry_policy&) const = default;
};

}  // namespace sluice
