// Windows as tests write them down.
#pragma once

#include "throttling/windows.hpp"

namespace sluice::test {

using namespace std::chrono_literals;

inline throttler fixed(std::uint64_t limit, duration interval) {
  throttler t{.kind = throttler_kind::fixed_window, .name = "w"};
  t.limit = limit;
  t.interval = interval;
  return t;
}

inline throttler sliding(std::uint64_t limit, duration interval, std::uint32_t buckets, bool compatible = false) {
  auto t = fixed(limit, interval);
  t.kind = throttler_kind::sliding_window;
  t.buckets = buckets;
  t.compatible = compatible;
  return t;
}

// With a limit the same for each key.
inline throttler dynamic(std::uint64_t capacity, std::uint64_t limit, duration interval, std::uint32_t buckets) {
  auto t = sliding(limit, interval, buckets);
  t.kind = throttler_kind::dynamic_window;
  t.key = "tenant:{tenant_id}";
  t.capacity = capacity;
  return t;
}

inline throttler balanced(std::uint64_t capacity, std::uint64_t min, std::uint64_t max, duration interval,
                          std::uint32_t buckets) {
  auto t = dynamic(capacity, 0, interval, buckets);
  t.min_limit = min;
  t.max_limit = max;
  return t;
}

// A limiter and the limiter that a store would keep for it.
struct kept_window {
  throttler definition;
  std::string state{};

  limiter_step step(time_point now, const std::vector<limiter_request>& wanted) const {
    return throttling::make_limiter(definition)->take(state, now, wanted);
  }
  std::vector<limiter_grant> take(time_point now, const std::vector<limiter_request>& wanted) {
    auto done = step(now, wanted);
    state = std::move(done.state);
    return std::move(done.each);
  }
  limiter_grant take(time_point now, std::uint64_t count) { return take(now, {{"", count}}).front(); }
  std::vector<limiter_view> describe(time_point now) const {
    return throttling::make_limiter(definition)->describe(state, now);
  }
};

}  // namespace sluice::test
