#include "scheduler/reaping.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace sluice::scheduler;
using namespace std::chrono_literals;

namespace {

const steady_point at_first{1h};
constexpr duration second_look = 10s;
constexpr duration lease = 18s;

storage::expired_lease expired(std::uint64_t fence, std::uint64_t renewals = 0, bool clock_went_back = false) {
  return {{job_id("job" + std::to_string(fence)), sluice::fence{fence}}, renewals, lease, clock_went_back};
}

}  // namespace

TEST_CASE("nobody loses a lease at the first look") {
  reaper r(second_look);
  CHECK(r.look({expired(1), expired(2)}, at_first).empty());
}

TEST_CASE("who has not renewed until the second look loses the lease") {
  reaper r(second_look);
  CHECK(r.look({expired(1, 4)}, at_first).empty());
  CHECK(r.look({expired(1, 4)}, at_first + 10s - 1us).empty());
  const auto lost = r.look({expired(1, 4)}, at_first + 10s);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].run.id == job_id("job1"));
  CHECK(lost[0].run.fence == fence{1});
  CHECK(lost[0].renewals == 4);
}

TEST_CASE("the second look is later than any server may leave its renewal") {
  reaper r(1s);
  CHECK(r.look({expired(1)}, at_first).empty());
  CHECK(r.look({expired(1)}, at_first + lease / 2).empty());
  CHECK(r.look({expired(1)}, at_first + lease * 11 / 20).size() == 1);
}

TEST_CASE("a renewal starts the wait anew") {
  reaper r(second_look);
  CHECK(r.look({expired(1, 4)}, at_first).empty());
  CHECK(r.look({expired(1, 5)}, at_first + 10s).empty());
  CHECK(r.look({expired(1, 5)}, at_first + 20s - 1us).empty());
  CHECK(r.look({expired(1, 5)}, at_first + 20s).size() == 1);
}

TEST_CASE("who renews again and again never loses a lease") {
  reaper r(second_look);
  for (std::uint64_t i = 0; i < 50; ++i)
    CHECK(r.look({expired(1, i)}, at_first + i * 1h).empty());
}

TEST_CASE("many looks are no second look") {
  reaper r(second_look);
  for (auto at = at_first; at < at_first + 10s; at += 500ms)
    CHECK(r.look({expired(1)}, at).empty());
  CHECK(r.look({expired(1)}, at_first + 10s).size() == 1);
}

TEST_CASE("after the clock was set back a lease is kept for two leases") {
  reaper r(second_look);
  CHECK(r.look({expired(1, 0, true)}, at_first).empty());
  CHECK(r.look({expired(1, 0, true)}, at_first + 36s - 1us).empty());
  CHECK(r.look({expired(1, 0, true)}, at_first + 36s).size() == 1);
}

TEST_CASE("who left is forgotten") {
  reaper r(second_look);
  CHECK(r.look({expired(1)}, at_first).empty());
  CHECK(r.look({}, at_first + 5s).empty());
  CHECK_FALSE(r.next());
  CHECK(r.look({expired(1)}, at_first + 10s).empty());
  CHECK(r.look({expired(1)}, at_first + 20s).size() == 1);
}

TEST_CASE("a new start of a job does not inherit the wait of the old one") {
  reaper r(second_look);
  auto again = expired(2);
  again.run.id = job_id("job1");
  CHECK(r.look({expired(1)}, at_first).empty());
  CHECK(r.look({again}, at_first + 10s).empty());
  CHECK(r.look({again}, at_first + 20s).size() == 1);
}

TEST_CASE("a lease that could not be taken away is answered again") {
  reaper r(second_look);
  CHECK(r.look({expired(1)}, at_first).empty());
  CHECK(r.look({expired(1)}, at_first + 10s).size() == 1);
  CHECK(r.look({expired(1)}, at_first + 11s).size() == 1);
}

TEST_CASE("each lease waits for itself") {
  reaper r(second_look);
  CHECK(r.look({expired(1)}, at_first).empty());
  CHECK(r.look({expired(1), expired(2)}, at_first + 5s).empty());
  const auto first = r.look({expired(1), expired(2)}, at_first + 10s);
  REQUIRE(first.size() == 1);
  CHECK(first[0].run.fence == fence{1});
  const auto second = r.look({expired(2)}, at_first + 15s);
  REQUIRE(second.size() == 1);
  CHECK(second[0].run.fence == fence{2});
}

TEST_CASE("the next look is when the first wait ends") {
  reaper r(second_look);
  CHECK_FALSE(r.next());
  CHECK(r.look({expired(1, 0, true)}, at_first).empty());
  CHECK(r.next() == at_first + 36s);
  CHECK(r.look({expired(1, 0, true), expired(2)}, at_first + 5s).empty());
  CHECK(r.next() == at_first + 15s);
}
