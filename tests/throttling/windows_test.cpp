#include "support/catch.hpp"
#include "throttling/support.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// A day of 2026, by its hours.
time_point clock_of(int hour, int minute, int second = 0) {
  using namespace std::chrono;
  return sys_days(year(2026) / 3 / 8) + microseconds(0) + hours(hour) + minutes(minute) + seconds(second);
}

std::vector<limiter_request> tenants(int n, std::uint64_t each) {
  std::vector<limiter_request> all;
  for (int i = 0; i < n; ++i)
    all.push_back({"tenant:" + std::to_string(i), each});
  return all;
}

std::vector<std::uint64_t> granted(const std::vector<limiter_grant>& each) {
  std::vector<std::uint64_t> all;
  for (const auto& g : each)
    all.push_back(g.granted);
  return all;
}

using numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("only windows have a limiter") {
  for (const auto kind : {throttler_kind::mutex, throttler_kind::semaphore, throttler_kind::custom})
    CHECK_FALSE(throttling::make_limiter({.kind = kind, .name = "x"}));
  CHECK(throttling::make_limiter(fixed(1, 1s)));
}

TEST_CASE("a fixed window of 4 per hour allows 4 at 12:59 and 4 at 13:00") {
  kept_window window{fixed(4, 1h)};
  const auto before = window.take(clock_of(12, 59), 5);
  CHECK(before.granted == 4);
  CHECK(before.next == clock_of(13, 0));
  CHECK(window.take(clock_of(12, 59, 59), 1).granted == 0);
  const auto after = window.take(clock_of(13, 0), 5);
  CHECK(after.granted == 4);
  CHECK(after.next == clock_of(14, 0));
}

TEST_CASE("a sliding window of 4 per hour in 3 buckets that had 4 at 12:59 opens at 14:00") {
  kept_window window{sliding(4, 1h, 3)};
  const auto full = window.take(clock_of(12, 59), 5);
  CHECK(full.granted == 4);
  CHECK(full.next == clock_of(14, 0));
  CHECK(window.take(clock_of(13, 59, 59), 1).granted == 0);
  CHECK(window.take(clock_of(14, 0), 5).granted == 4);
}

TEST_CASE("a compatible sliding window opens at 13:40 as the one of Hangfire does") {
  kept_window window{sliding(4, 1h, 3, true)};
  const auto full = window.take(clock_of(12, 59), 5);
  CHECK(full.granted == 4);
  CHECK(full.next == clock_of(13, 40));
  CHECK(window.take(clock_of(13, 39, 59), 1).granted == 0);
  CHECK(window.take(clock_of(13, 40), 5).granted == 4);
}

TEST_CASE("a sliding window gives slots back bucket by bucket") {
  kept_window window{sliding(4, 1h, 3)};
  CHECK(window.take(clock_of(12, 0), 1).granted == 1);
  CHECK(window.take(clock_of(12, 20), 3).granted == 3);
  CHECK(window.take(clock_of(13, 19), 1).next == clock_of(13, 20));
  CHECK(window.take(clock_of(13, 20), 9).granted == 1);
  CHECK(window.take(clock_of(13, 40), 9).granted == 3);
}

TEST_CASE("a sliding or dynamic window of one bucket is a fixed one") {
  for (const auto& definition : {sliding(4, 1h, 1), sliding(4, 1h, 1, true), dynamic(4, 4, 1h, 1)}) {
    kept_window window{definition};
    CHECK(window.take(clock_of(12, 59), 4).granted == 4);
    CHECK(window.take(clock_of(12, 59), 1).next == clock_of(13, 0));
    CHECK(window.take(clock_of(13, 0), 4).granted == 4);
  }
}

TEST_CASE("a step may be carried out until its bucket ends") {
  const auto step = kept_window{sliding(4, 1h, 3)}.step(clock_of(12, 59), {{"", 1}});
  CHECK(step.from == clock_of(12, 40));
  CHECK(step.until == clock_of(13, 0));
}

TEST_CASE("the shares of a capacity of 20 are those of Hangfire") {
  const numbers shares[] = {{20},
                            {10, 10},
                            {7, 7, 6},
                            {5, 5, 5, 5},
                            {4, 4, 4, 4, 4},
                            {4, 4, 3, 3, 3, 3},
                            {3, 3, 3, 3, 3, 3, 2},
                            {3, 3, 3, 3, 2, 2, 2, 2},
                            {3, 3, 2, 2, 2, 2, 2, 2, 2},
                            {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}};
  for (const auto& share : shares) {
    kept_window window{balanced(20, 2, 20, 1h, 4)};
    CHECK(granted(window.take(clock_of(12, 0), tenants(static_cast<int>(share.size()), 100))) == share);
    numbers seen;
    for (const auto& row : window.describe(clock_of(12, 0))) {
      CHECK(row.used == row.limit);
      CHECK(row.next == clock_of(13, 15));
      seen.push_back(row.limit);
    }
    CHECK(seen == share);
  }
}

TEST_CASE("an eleventh tenant is refused until a place is free") {
  kept_window window{balanced(20, 2, 20, 1h, 4)};
  REQUIRE(window.take(clock_of(12, 0), {{"tenant:0", 1}}).front().granted == 1);
  const auto each = window.take(clock_of(12, 15), tenants(11, 1));
  CHECK(granted(each) == numbers{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0});
  CHECK(each.back().next == clock_of(13, 30));
  CHECK(window.state.find("9:tenant:10") == std::string::npos);
  CHECK(granted(window.take(clock_of(13, 29), {{"tenant:10", 1}})) == numbers{0});
  CHECK(granted(window.take(clock_of(13, 30), {{"tenant:10", 1}})) == numbers{1});
}

TEST_CASE("a capacity of 20 with a limit of 4 makes 5 windows") {
  kept_window window{dynamic(20, 4, 1h, 4)};
  const auto each = window.take(clock_of(12, 0), tenants(6, 9));
  CHECK(granted(each) == numbers{4, 4, 4, 4, 4, 0});
  CHECK(each.back().next == clock_of(13, 15));
}

TEST_CASE("without a capacity a dynamic window has a thousand keys") {
  kept_window window{dynamic(0, 1, 1h, 4)};
  const auto each = granted(window.take(clock_of(12, 0), tenants(1002, 9)));
  CHECK(std::count(each.begin(), each.end(), 1U) == 1000);
  CHECK(each[1000] + each[1001] == 0);
}

TEST_CASE("a tenant above a share that shrank waits until it counts less") {
  kept_window window{balanced(20, 2, 20, 1h, 4)};
  REQUIRE(window.take(clock_of(12, 0), {{"a", 12}}).front().granted == 12);
  const auto each = window.take(clock_of(12, 15), {{"a", 1}, {"b", 20}});
  CHECK(granted(each) == numbers{0, 8});  // b's share is 10, and the capacity has 8
  CHECK(each[0].next == clock_of(13, 15));
  CHECK(each[1].next == clock_of(13, 15));
}

TEST_CASE("a key that counts no more loses its place to one that came before it") {
  kept_window window{dynamic(1, 1, 1h, 1)};
  REQUIRE(window.take(clock_of(12, 0), {{"a", 1}}).front().granted == 1);
  CHECK(window.take(clock_of(12, 30), {{"b", 1}, {"a", 1}})[0].next == clock_of(13, 0));
  CHECK(granted(window.take(clock_of(13, 0), {{"b", 1}, {"a", 1}})) == numbers{1, 0});
}

TEST_CASE("a key may be any bytes and be asked for twice") {
  kept_window window{dynamic(0, 3, 1h, 2)};
  const std::string odd("4:a#;=,\0\xff 1\n", 12);
  CHECK(granted(window.take(clock_of(12, 0), {{odd, 2}, {"", 1}, {odd, 2}})) == numbers{2, 1, 1});
  const auto rows = window.describe(clock_of(12, 0));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].key == odd);
  CHECK(rows[0].used == 3);
  CHECK(rows[0].next == clock_of(13, 30));
  CHECK(rows[1].used == 1);
  CHECK_FALSE(rows[1].next);
}

TEST_CASE("a limit that was lowered grants nothing until the count is below it") {
  kept_window window{fixed(10, 1h)};
  REQUIRE(window.take(clock_of(12, 0), 8).granted == 8);
  window.definition.limit = 8;
  CHECK(window.take(clock_of(12, 1), 1).granted == 0);
  window.definition.limit = 9;
  CHECK(window.take(clock_of(12, 1), 5).granted == 1);
  window.definition.limit = 1'000'000'000;
  CHECK(window.take(clock_of(12, 1), 999'999'999).granted == 999'999'991);
}

TEST_CASE("another interval takes over what counts") {
  kept_window window{sliding(4, 1h, 4)};
  REQUIRE(window.take(clock_of(12, 0), 3).granted == 3);
  window.definition = sliding(4, 10min, 10);
  CHECK(window.take(clock_of(12, 5), 9).granted == 1);  // these 3 count as if they were of now
  CHECK(window.take(clock_of(12, 15), 1).next == clock_of(12, 16));
  CHECK(window.take(clock_of(12, 16), 9).granted == 4);
}

TEST_CASE("an interval that was made longer is full until all of it is known") {
  kept_window window{fixed(4, 1min)};
  REQUIRE(window.take(clock_of(12, 0), 4).granted == 4);
  REQUIRE(window.take(clock_of(12, 1), 1).granted == 1);
  window.definition = sliding(4, 1h, 60);
  CHECK(window.take(clock_of(12, 2), 1).next == clock_of(13, 1));
  CHECK(window.describe(clock_of(12, 2)).front().next == clock_of(13, 1));
  CHECK(window.take(clock_of(13, 0, 59), 1).granted == 0);
  CHECK(window.take(clock_of(13, 1), 9).granted == 3);
}

TEST_CASE("a clock that was set back a little grants nothing twice") {
  kept_window window{fixed(4, 1h)};
  REQUIRE(window.take(clock_of(13, 0), 3).granted == 3);
  const auto step = window.step(clock_of(12, 30), {{"", 5}});
  CHECK(step.each.front().granted == 1);
  CHECK(step.each.front().next == clock_of(14, 0));
  CHECK(step.from == clock_of(12, 30));
  CHECK(step.until == clock_of(14, 0));
}

TEST_CASE("a clock that was set back by a year stops a window for one interval") {
  kept_window window{fixed(4, 1h)};
  REQUIRE(window.take(clock_of(13, 10), 3).granted == 3);
  const auto then = clock_of(13, 10) - 365 * 24h;
  CHECK(window.take(then, 1).next == then + 1h);
  CHECK(window.take(then + 59min, 1).granted == 0);
  CHECK(window.take(then + 1h, 9).granted == 4);
}

TEST_CASE("a state that cannot be read is full for one interval") {
  for (const auto& definition : {fixed(4, 1h), sliding(4, 1h, 3), sliding(4, 1h, 3, true), dynamic(4, 4, 1h, 3)}) {
    kept_window window{definition, "?"};
    const auto rows = window.describe(clock_of(12, 10));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].used == 4);
    CHECK(rows[0].limit == 4);
    CHECK(rows[0].next == clock_of(13, 10));
    CHECK(window.take(clock_of(12, 10), 1).next == clock_of(13, 10));
    CHECK(window.take(clock_of(13, 9, 59), 1).next == clock_of(13, 10));
    CHECK(window.take(clock_of(13, 10), 9).granted == 4);
  }
}

TEST_CASE("a state from which a byte is missing or changed cannot be read") {
  kept_window window{sliding(4, 1h, 3)};
  REQUIRE(window.take(clock_of(12, 0), 2).granted == 2);
  for (std::size_t i = 0; i < window.state.size(); ++i) {
    CAPTURE(i);
    auto changed = window;
    changed.state[i] = static_cast<char>(changed.state[i] ^ 1);
    CHECK(changed.take(clock_of(12, 1), 1).next == clock_of(13, 1));
    auto shorter = window;
    shorter.state.erase(i, 1);
    CHECK(shorter.take(clock_of(12, 1), 1).next == clock_of(13, 1));
    auto cut = window;
    cut.state.resize(i);
    CHECK(cut.take(clock_of(12, 1), 1).granted == (i == 0 ? 1 : 0));
  }
}

TEST_CASE("a state grows with what counts and not with the number of buckets") {
  kept_window window{sliding(1'000'000'000, 366 * 24h, 1000)};
  CHECK(window.take(clock_of(0, 0), 1'000'000'000).granted == 1'000'000'000);
  CHECK(window.state.size() < 100);
}

TEST_CASE("a thousand keys in a thousand buckets are sums of what each had") {
  kept_window window{dynamic(0, 1000, 1000s, 1000)};
  for (int s = 0; s < 50; ++s)
    window.take(clock_of(0, 0, s), tenants(1000, 20));
  const auto each = window.take(clock_of(0, 1), tenants(1000, 1));
  CHECK(each.back().granted == 0);
  CHECK(each.back().next == clock_of(0, 0) + 1001s);
}
