// A program of one's own that stops its server when it is asked to end (<sluice/stop_signal.hpp>).
#include "support/catch.hpp"
#include "system/worker_world.hpp"

namespace sluice::test {

TEST_CASE("a program that waits for a stop signal ends its server in order at SIGTERM and at SIGINT") {
  for (const int signal : {SIGTERM, SIGINT}) {
    worker_world w;
    w.enqueue(noops(1));
    auto p = w.worker("a");
    REQUIRE(eventually([&] { return w.all_succeeded(1); }));
    p.signal(signal);
    CHECK(p.exit_code(10s) == 0);
    CHECK(p.log().find("stopping by signal " + std::to_string(signal)) != std::string::npos);
    CHECK(w.client->servers()->empty());
  }
}

TEST_CASE("a stop signal that is sent again while a job ends does not cut it off") {
  worker_world w;
  w.enqueue(noops(1, {{"until_told", true}}));
  auto p = w.worker("a");
  REQUIRE(eventually([&] { return w.noted("begin", {"a"}) == 1; }));
  p.signal(SIGTERM);
  REQUIRE(eventually([&] { return p.log().find("stopping by signal") != std::string::npos; }));
  p.signal(SIGTERM);
  p.signal(SIGINT);
  w.tell("a");
  CHECK(p.exit_code(10s) == 0);
  CHECK(w.all_succeeded(1));
}

}  // namespace sluice::test
