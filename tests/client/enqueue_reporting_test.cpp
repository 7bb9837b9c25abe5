// What a client tells of a job that it has enqueued.
#include <sluice/client.hpp>

#include "support/catch.hpp"

using namespace sluice;

TEST_CASE("what came of one job is told as of one among many") {
  auto store = client::open({.storage = "sqlite::memory:reporting"}).value();
  const auto of = [](const char* id) {
    return new_job{.type = job_type("mail"), .id = job_id(id), .unique = unique_rule{.by = "constant:ada"}};
  };
  const auto first = store.enqueue_reporting(of("a"));
  REQUIRE(first.ok());
  CHECK(first->id == job_id("a"));
  CHECK(first->what == enqueue_result::stored);
  CHECK(store.enqueue_reporting(of("a"))->what == enqueue_result::same);
  const auto second = store.enqueue_reporting(of("b"));
  CHECK(second->id == job_id("a"));
  CHECK(second->what == enqueue_result::duplicate);
  CHECK(store.enqueue_reporting(new_job{}).error().code == errc::invalid_argument);
  CHECK(store.enqueue_reporting({of("a"), of("b")}).size() == 2);
}
