#include "wire/overview.hpp"

#include "support/catch.hpp"

namespace sluice::test {

TEST_CASE("a throttler that is full does its work, and is no trouble") {
  wire::known_store known;
  known.at = time_point();
  throttler_status full;
  full.kind = throttler_kind::semaphore;
  full.resource = "semaphore:api";
  full.limit = full.held = 4;
  full.waiting = 7;
  known.throttlers = {full};
  for (const auto& one : wire::troubles_of(known))
    CHECK(one.about != full.resource);
}

}  // namespace sluice::test
