#include "custom_throttler/token_bucket.hpp"

#include <algorithm>
#include <charconv>

namespace sample {

using namespace std::chrono_literals;
using sluice::time_point;

token_bucket::token_bucket(std::uint64_t tokens_a_second, std::uint64_t burst)
    : a_token_(sluice::duration(1s) / static_cast<std::int64_t>(tokens_a_second)), burst_(burst) {}

// The whole state is one instant: when the bucket is full again if nobody takes anything. How many tokens are in it at
// any time follows from that, so nothing needs to be written while they come.
time_point token_bucket::full_at(std::string_view state, time_point now) const {
  if (state.empty()) return now;  // the beginning: full of tokens
  std::int64_t us = 0;
  const auto [end, code] = std::from_chars(state.data(), state.data() + state.size(), us);
  if (code == std::errc() && end == state.data() + state.size()) return std::max(now, time_point(sluice::duration(us)));
  // Nobody knows what somebody else has written here: no token is in it, and from now on they come again.
  return now + a_token_ * static_cast<std::int64_t>(burst_);
}

// A token that is on its way is not there yet.
std::uint64_t token_bucket::missing(time_point full_at, time_point now) const {
  return static_cast<std::uint64_t>((full_at - now + a_token_ - 1us) / a_token_);
}

sluice::limiter_step token_bucket::take(std::string_view state, time_point now,
                                        std::span<const sluice::limiter_request> wanted) const {
  auto full = full_at(state, now);
  sluice::limiter_step step;
  for (const auto& one : wanted) {
    const auto there = burst_ - std::min(burst_, missing(full, now));
    const auto granted = std::min(one.count, there);
    full += a_token_ * static_cast<std::int64_t>(granted);
    step.each.push_back({granted, {}});
    // One token is there when all but one of the burst are missing.
    if (granted < one.count) step.each.back().next = full - a_token_ * static_cast<std::int64_t>(burst_ - 1);
  }
  step.state = std::to_string(full.time_since_epoch().count());
  step.from = now;  // earlier, some of these tokens would not have come yet
  step.until = now + begins_within;
  return step;
}

}  // namespace sample
