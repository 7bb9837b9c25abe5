#include <sluice/client.hpp>
#include <sluice/job_graph.hpp>

#include "support/catch.hpp"

using namespace sluice;

namespace {

new_job of(const char* type) { return {.type = job_type(type)}; }

}  // namespace

TEST_CASE("a graph of jobs gives ids and is stored whole") {
  auto store = client::open({.storage = "sqlite::memory:graph"}).value();
  job_graph graph;
  const auto top = graph.add(of("top"));
  const auto left = graph.add(of("left"), {top}), right = graph.add(of("right"), {top});
  auto last = of("join");
  last.id = "the-join";
  CHECK(graph.add(std::move(last), {left, right}) == job_id("the-join"));

  const auto stored = store.enqueue_all(graph.jobs());
  REQUIRE(stored.ok());
  CHECK(*stored == std::vector<job_id>{top, left, right, job_id("the-join")});
  CHECK(store.get(top).value().state == job_state::enqueued);
  CHECK(store.get(job_id("the-join")).value().state == job_state::awaiting);
  CHECK(store.parents(job_id("the-join")).value().size() == 2);
  CHECK(store.enqueue_all(graph.jobs()).ok());
  CHECK(store.enqueue_all({}).value().empty());
}

TEST_CASE("of a graph with a job at fault nothing is stored, and the error names that job") {
  auto store = client::open({.storage = "sqlite::memory:graph"}).value();
  job_graph graph;
  const auto first = graph.add(of("first"));
  const auto second = graph.add(of("second"), {job_id("nobody")});
  const auto refused = store.enqueue_all(graph.jobs());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == errc::not_found);
  CHECK(refused.error().message ==
        "job " + second.value + " was not stored: its parent nobody is not in the store; none of these was stored");
  CHECK(store.get(first).error().code == errc::not_found);

  job_graph bad;
  bad.add(of("fine"));
  bad.add(of("no name"));
  CHECK(store.enqueue_all(std::move(bad).jobs()).error().message.find("job 2 of these: job type 'no name'") == 0);
  job_graph large;
  for (int i = 0; i < 1001; ++i)
    large.add(of("x"));
  CHECK(store.enqueue_all(large.jobs()).error().code == errc::too_large);
}
