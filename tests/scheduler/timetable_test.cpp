#include <algorithm>

#include "scheduler/timetable.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace sluice::scheduler;
using namespace std::chrono_literals;

namespace {

const steady_point start{1h};

bool has(const std::vector<duty>& due, duty d) { return std::count(due.begin(), due.end(), d) == 1; }

// An agenda whose first duties were done at `start`.
timetable begun(const server_options& options = {}) {
  timetable a(options, start);
  CHECK(a.take_due(start).size() == duty_count);
  return a;
}

}  // namespace

TEST_CASE("everything is due in the beginning") {
  timetable a({}, start);
  CHECK(a.next() == start);
  const auto due = a.take_due(start);
  REQUIRE(due.size() == duty_count);
  for (std::size_t i = 0; i < duty_count; ++i)
    CHECK(has(due, static_cast<duty>(i)));
}

TEST_CASE("nothing is due before its time") {
  timetable a({}, start);
  CHECK(a.take_due(start - 1us).empty());
}

TEST_CASE("a duty that was taken is put off by its interval") {
  auto a = begun();
  CHECK(a.take_due(start).empty());
  CHECK(a.take_due(start + 5s - 1us).empty());
  const auto swept = a.take_due(start + 5s);
  CHECK(swept.size() == 3);
  CHECK(has(swept, duty::sweep));
  CHECK(has(swept, duty::promote));
  CHECK(has(swept, duty::find_lost));
  const auto later = a.take_due(start + 10s);
  CHECK(later.size() == 4);
  CHECK(has(later, duty::heartbeat));
  CHECK(has(a.take_due(start + 1min), duty::prune));
}

TEST_CASE("the interval of the sweep is the one that the operator set") {
  server_options options;
  options.sweep_interval = 1s;
  auto a = begun(options);
  CHECK(a.next() == start + 1s);
  CHECK(has(a.take_due(start + 1s), duty::find_lost));
}

TEST_CASE("a late look puts off from when it looked") {
  auto a = begun();
  CHECK(a.take_due(start + 1h).size() == duty_count);
  CHECK(a.take_due(start + 1h).empty());
  CHECK(a.next() == start + 1h + 5s);
}

TEST_CASE("a duty can be brought forward") {
  auto a = begun();
  a.at(duty::promote, start + 100ms);
  CHECK(a.next() == start + 100ms);
  CHECK(a.take_due(start + 99ms).empty());
  CHECK(a.take_due(start + 100ms) == std::vector{duty::promote});
}

TEST_CASE("a duty brought forward is put off from then") {
  auto a = begun();
  a.at(duty::promote, start + 1s);
  CHECK(a.take_due(start + 1s) == std::vector{duty::promote});
  CHECK(a.take_due(start + 5s) == std::vector{duty::find_lost, duty::sweep});
  CHECK(a.take_due(start + 6s) == std::vector{duty::promote});
}

TEST_CASE("a duty is never put off by bringing it forward") {
  auto a = begun();
  a.at(duty::sweep, start + 1h);
  CHECK(has(a.take_due(start + 5s), duty::sweep));
  a.at(duty::prune, start + 7s);
  a.at(duty::prune, start + 8s);
  CHECK(a.next() == start + 7s);
}

TEST_CASE("a duty brought forward into the past is due at once") {
  auto a = begun();
  a.at(duty::find_lost, start - 1h);
  CHECK(a.next() <= start);
  CHECK(a.take_due(start) == std::vector{duty::find_lost});
  CHECK(a.take_due(start).empty());
}

TEST_CASE("a lease is renewed every third of it unless the operator says otherwise") {
  server_options options;
  CHECK(renewal_interval(options) == 10s);
  options.lease = 1s;
  CHECK(renewal_interval(options) == 333'333us);
  options.renew_every = 100ms;
  CHECK(renewal_interval(options) == 100ms);
}
