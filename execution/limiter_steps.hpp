// One step of a throttler whose state is a limiter: who is let in, who waits and who is woken. Pure.
#pragma once

#include <span>

#include <sluice/throttling.hpp>

#include "storage/store.hpp"

namespace sluice::execution {

// A run that wants in.
struct limiter_ask {
  std::string resource;  // the line it would wait in: the limiter, or "LIMITER/KEY"
  storage::run_key run;
  bool may_park = true;
};

struct limiter_verdict {
  admission what = admission::granted;  // or parked, or deferred
  duration after{0};                    // deferred: when to ask again
};

struct limiter_update {
  storage::update_limiter_request update;
  std::vector<limiter_verdict> each;  // of the asks; they hold when the update is carried out
};

// More would make one step too long; those beyond are looked at in the next.
inline constexpr std::size_t asks_in_a_step = 100;
inline constexpr std::uint64_t wakes_in_a_step = 1'000;

// Whoever waits goes before whoever asks now.
limiter_update plan_limiter_update(const limiter& by, const std::string& limiter, const storage::limiter_record& seen,
                                   time_point now, std::span<const limiter_ask> asks);

// The key of a line: what stands behind the limiter's name.
std::string key_of(const std::string& limiter, const std::string& resource);

}  // namespace sluice::execution
