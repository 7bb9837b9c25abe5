#include "client/lock_lease.hpp"

#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using step = lock_lease::step;

namespace {

const steady_point start{1h};

struct ten_seconds : lock_lease {
  ten_seconds() : lock_lease("the printer", sluice::fence{7}, 10s, start) {}
};

}  // namespace

TEST_CASE("a lock counts as held for nine tenths of its time from before it was asked for") {
  ten_seconds lease;
  CHECK(lease.held(start));
  CHECK(lease.held(start + 9s - 1us));
  CHECK_FALSE(lease.held(start + 9s));
}

TEST_CASE("a lock is renewed after a third of its time and not asked for twice at once") {
  ten_seconds lease;
  CHECK(lease.look(start + 3s) == step::nothing);
  CHECK(lease.next_check() > start + 3s);
  CHECK(lease.next_check() < start + 4s);
  CHECK(lease.look(start + 4s) == step::renew);
  CHECK(lease.look(start + 5s) == step::nothing);
  CHECK(lease.next_check() == start + 9s);
  lease.renewed(start + 4s, start + 5s);
  CHECK(lease.held(start + 12s));
  CHECK_FALSE(lease.held(start + 13s));
  CHECK(lease.look(start + 8s) == step::renew);
}

TEST_CASE("a renewal that failed is tried again soon while the lock is held") {
  ten_seconds lease;
  REQUIRE(lease.look(start + 4s) == step::renew);
  lease.failed(start + 5s);
  CHECK(lease.look(start + 5s) == step::nothing);
  CHECK(lease.next_check() < start + 6s);
  CHECK(lease.look(start + 6s) == step::renew);
  lease.failed(start + 8900ms);
  CHECK(lease.next_check() <= start + 9s);
  CHECK(lease.look(start + 9s) == step::lose);
}

TEST_CASE("a lock that was refused is lost at once and told of once") {
  ten_seconds lease;
  REQUIRE(lease.look(start + 4s) == step::renew);
  lease.refused();
  CHECK_FALSE(lease.held(start + 4s));
  CHECK(lease.next_check() <= start);
  CHECK(lease.look(start + 4s) == step::lose);
  CHECK(lease.look(start + 4s) == step::forget);
}

TEST_CASE("a lock that was not held for a moment is lost for ever whatever the store says then") {
  ten_seconds lease;
  REQUIRE(lease.look(start + 4s) == step::renew);
  SECTION("by an answer that came too late") { lease.renewed(start + 8s, start + 9s); }
  SECTION("by an answer behind the loss") {
    CHECK(lease.look(start + 9s) == step::lose);
    lease.renewed(start + 8s, start + 8500ms);
  }
  CHECK_FALSE(lease.held(start + 9s));
  CHECK(lease.look(start + 9s) != step::renew);
  CHECK(lease.look(start + 10s) != step::nothing);
}

TEST_CASE("a lock that was given up is not held, not renewed and not lost") {
  ten_seconds lease;
  lease.end();
  CHECK_FALSE(lease.held(start));
  CHECK(lease.look(start + 4s) == step::forget);
}
