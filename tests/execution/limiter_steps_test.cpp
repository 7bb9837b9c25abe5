// One step of a limiter's throttler: whoever waits goes first, and what is said to the store fits what was granted.
#include "execution/limiter_steps.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "throttling/windows.hpp"

namespace sluice::test {
namespace {

using namespace sluice::execution;

constexpr time_point noon(std::chrono::hours(12));

std::shared_ptr<const limiter> four_an_hour() {
  throttler t;
  t.kind = throttler_kind::fixed_window;
  t.name = "w";
  t.limit = 4;
  t.interval = 1h;
  return throttling::make_limiter(t);
}

std::vector<limiter_ask> asks(std::size_t n, bool may_park = true, const std::string& line = "fixed_window:w") {
  std::vector<limiter_ask> all;
  for (std::size_t i = 0; i < n; ++i)
    all.push_back({line, {job_id("j" + std::to_string(i)), fence{i + 1}}, may_park});
  return all;
}

storage::limiter_record seen(std::uint64_t waiting = 0) {
  storage::limiter_record limiter;
  limiter.version = 7;
  limiter.now = noon;
  if (waiting > 0) limiter.lines.push_back({"fixed_window:w", waiting});
  return limiter;
}

limiter_update step(const storage::limiter_record& limiter, const std::vector<limiter_ask>& wanted) {
  return plan_limiter_update(*four_an_hour(), "fixed_window:w", limiter, noon, wanted);
}

std::size_t granted(const limiter_update& s) {
  return static_cast<std::size_t>(
      std::count_if(s.each.begin(), s.each.end(), [](const auto& v) { return v.what == admission::granted; }));
}

}  // namespace

TEST_CASE("a step grants what fits and parks the others until the next interval") {
  const auto s = step(seen(), asks(6));
  CHECK(granted(s) == 4);
  REQUIRE(s.update.let_in.size() == 4);
  CHECK(s.update.let_in[3].id == job_id("j3"));
  REQUIRE(s.update.parks.size() == 2);
  CHECK(s.update.parks[0].run.id == job_id("j4"));
  CHECK(s.update.version == 7);
  REQUIRE(s.update.next_checks.size() == 1);
  CHECK(s.update.next_checks[0].at == noon + 1h);
  CHECK(s.update.wakes.empty());
}

TEST_CASE("whoever waits goes before whoever asks now") {
  const auto s = step(seen(3), asks(2));
  REQUIRE(s.update.wakes.size() == 1);
  CHECK(s.update.wakes[0].count == 3);
  CHECK(granted(s) == 1);
  CHECK(s.update.parks.size() == 1);
}

TEST_CASE("with more waiters than fit nobody who asks is let in") {
  const auto s = step(seen(9), asks(2));
  REQUIRE(s.update.wakes.size() == 1);
  CHECK(s.update.wakes[0].count == 4);
  CHECK(granted(s) == 0);
  CHECK(s.update.parks.size() == 2);
  REQUIRE(s.update.next_checks.size() == 1);
  CHECK(s.update.next_checks[0].at == noon + 1h);
}

TEST_CASE("a line whose last waiter is woken needs no next check any more") {
  const auto s = step(seen(2), {});
  REQUIRE(s.update.next_checks.size() == 1);
  CHECK_FALSE(s.update.next_checks[0].at);
}

TEST_CASE("who must not be parked is told when to ask again") {
  const auto s = step(seen(), asks(5, false));
  CHECK(granted(s) == 4);
  CHECK(s.each[4].what == admission::deferred);
  CHECK(s.each[4].after == 1h);
  CHECK(s.update.parks.empty());
}

TEST_CASE("more waiters than one step wakes are looked at again at once") {
  throttler t;
  t.kind = throttler_kind::fixed_window;
  t.name = "w";
  t.limit = 1'000'000;
  t.interval = 1h;
  const auto s =
      plan_limiter_update(*throttling::make_limiter(t), "fixed_window:w", seen(wakes_in_a_step + 500), noon, asks(1));
  CHECK(s.update.wakes[0].count == wakes_in_a_step);
  CHECK(granted(s) == 0);
  REQUIRE(s.update.next_checks.size() == 1);
  CHECK(s.update.next_checks[0].at == noon);
}

TEST_CASE("a limiter that says too little or grants too much lets in no more than asked") {
  struct odd final : limiter {
    limiter_step take(std::string_view, time_point now, std::span<const limiter_request>) const override {
      return {"s", now - 1s, now + 1s, {{99, {}}}};
    }
  };
  auto two_lines = asks(2);
  two_lines[1].resource = "fixed_window:w/key";
  const auto s = plan_limiter_update(odd(), "fixed_window:w", seen(), noon, two_lines);
  CHECK(granted(s) == 1);
  REQUIRE(s.update.parks.size() == 1);
  CHECK(s.update.parks[0].resource == "fixed_window:w/key");
  CHECK(s.update.next_checks[0].at > noon);
}

}  // namespace sluice::test
