// Groups of jobs over HTTP.
#include <set>

#include "dashboard/dashboard_world.hpp"
#include "support/catch.hpp"

namespace sluice::test {

namespace {

// The first job of the default queue is claimed, and has failed for good.
void fail_first(dashboard_world& w) {
  const auto ask = [&](storage::request r) {
    auto got = w.on->shared_store->call({std::move(r)}, std::chrono::steady_clock::now() + std::chrono::seconds(10));
    if (const auto* failed = std::get_if<error>(&got.at(0))) throw std::runtime_error(to_string(*failed));
    return std::move(got[0]);
  };
  storage::claim_request claim;
  claim.server = server_id("some");
  claim.queue = queue_name("default");
  claim.op = 1;
  claim.free = 1;
  claim.lease = std::chrono::minutes(1);
  claim.types = std::make_shared<const std::set<std::string, std::less<>>>(std::set<std::string, std::less<>>{"noop"});
  const auto got = std::get<storage::claim_answer>(ask(std::move(claim)));
  storage::settlement end;
  end.run = {got.jobs.at(0).job.id, got.jobs[0].job.fence};
  end.end = run_end::failed;
  end.failure = true;
  end.cause = end.reason = "failed";
  ask(storage::settle_request{{end}, std::nullopt});
}

}  // namespace

TEST_CASE("a group is made, filled, sealed and looked at over HTTP, and a job runs after it") {
  dashboard_world w;
  const std::string batch = "/api/v1/groups/batch";
  for (int i = 0; i < 2; ++i)  // again, nothing changes
    CHECK(dashboard_world::json::parse(w.ask("PUT", batch, {{"seal_within_ms", 3'600'000}}).body) ==
          dashboard_world::json{{"group", "batch"}, {"done", "there"}});
  for (const auto* id : {"a", "b"})
    REQUIRE(w.ask("POST", "/api/v1/jobs", {{"type", "noop"}, {"id", id}, {"group", "batch"}}).status == 201);
  REQUIRE(w.ask("POST", "/api/v1/jobs", {{"type", "noop"}, {"id", "last"}, {"after_groups", {"batch"}}}).status == 201);
  CHECK(w.get(batch).at("open") == 2);
  CHECK(w.get(batch).at("sealed") == false);
  CHECK(dashboard_world::json::parse(w.ask("POST", batch + "/seal").body).at("done") == "sealed");
  CHECK(w.get(batch).at("sealed") == true);
  CHECK(w.ask("POST", "/api/v1/jobs", {{"type", "noop"}, {"group", "batch"}}).status == 409);
  CHECK(w.get("/api/v1/jobs/last").at("state") == "awaiting");
  CHECK(dashboard_world::json::parse(w.ask("POST", batch + "/cancel").body).at("done") == "cancelled");
  CHECK(w.get(batch).at("cancelled") == true);
  const auto listed = w.get("/api/v1/groups").at("groups");
  REQUIRE(listed.size() == 1);
  CHECK(listed[0] == w.get(batch));
  for (const auto* path : {"/api/v1/jobs/batch", "/api/v1/jobs/batch/explanation"})
    CHECK(dashboard_world::json::parse(w.ask("GET", path).body).at("detail") ==
          "there is no job batch; a group is called so: /groups/batch");
}

TEST_CASE("the failed members of a group are requeued over HTTP") {
  dashboard_world w;
  REQUIRE(w.ask("PUT", "/api/v1/groups/batch").status == 200);
  REQUIRE(w.ask("POST", "/api/v1/jobs", {{"type", "noop"}, {"id", "a"}, {"group", "batch"}, {"retries", 0}}).status ==
          201);
  REQUIRE(w.ask("POST", "/api/v1/groups/batch/seal").status == 200);
  fail_first(w);
  CHECK(w.get("/api/v1/groups/batch").at("failed") == 1);
  CHECK(dashboard_world::json::parse(w.ask("POST", "/api/v1/groups/batch/requeue-failed").body) ==
        dashboard_world::json{{"group", "batch"}, {"requeued", 1}});
  CHECK(w.get("/api/v1/jobs/a").at("state") == "enqueued");
}

TEST_CASE("what is wrong with a question about groups is answered by its field or name") {
  dashboard_world w;
  for (const auto* path : {"/api/v1/groups/none", "/api/v1/groups/none/seal", "/api/v1/groups/none/cancel",
                           "/api/v1/groups/none/requeue-failed"}) {
    CAPTURE(path);
    const auto looks = std::string_view(path).ends_with("none");
    const auto said = w.ask(looks ? "GET" : "POST", path);
    CHECK(said.status == 404);
    CHECK(dashboard_world::json::parse(said.body).at("detail") == "there is no group none");
  }
  const auto wrong = w.ask("PUT", "/api/v1/groups/batch", {{"seal_within_ms", "1h"}, {"inn", "a"}});
  CHECK(wrong.status == 400);
  const auto faults = dashboard_world::json::parse(wrong.body).at("errors");
  CAPTURE(faults.dump());
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].at("pointer") == "/seal_within_ms");
  CHECK(faults[1].at("pointer") == "/inn");
  CHECK(w.ask("PUT", "/api/v1/groups/batch", {{"seal_within_ms", 5}}).status == 400);
  CHECK(w.ask("PUT", "/api/v1/groups/batch", {{"in", "none"}}).status == 404);
  CHECK(w.ask("GET", "/api/v1/groups?limit=0").status == 400);
  REQUIRE(w.ask("PUT", "/api/v1/groups/batch").status == 200);
  for (const auto* act : {"seal", "cancel", "requeue-failed"})
    CHECK(w.ask("POST", std::string("/api/v1/groups/batch/") + act, {{"dry_run", true}}).status == 400);
  CHECK(w.get("/api/v1/groups/batch").at("sealed") == false);
}

}  // namespace sluice::test
