// Groups, unique keys and times, with a server that runs the jobs, and by a host's actors.
#include <condition_variable>
#include <mutex>

#include "actors/server_world.hpp"
#include "support/catch.hpp"
#include "support/counted_server.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

struct group_world : server_world {
  std::atomic<int> runs{0}, told{0};

  explicit group_world(const std::string& url = {}) : server_world(url) {
    handlers.handle("page", [this](job_context&) { ++runs; });
    handlers.handle("tell", [this](job_context&) { ++told; });
    handlers.handle("carry", [](job_context& job) {
      new_job next;
      next.id = job_id(job.id().value + "-next");
      next.type = job_type("page");
      return outcome::succeeded().then(std::move(next));
    });
    handlers.handle("carry_wrong", [](job_context&) {
      new_job next;
      next.type = job_type("no type");
      return outcome::succeeded().then(std::move(next));
    });
    handlers.handle("slow", [](job_context& job) {
      std::mutex mutex;
      std::unique_lock held(mutex);
      std::condition_variable_any().wait(held, job.stop(), [] { return false; });
      throw stopped{};
    });
    options.sweep_interval = 1min;
    options.retry.attempts = 0;
  }
};

new_job job_of(const std::string& type, const std::string& id = {}) {
  new_job job;
  job.type = job_type(type);
  job.id = job_id(id);
  return job;
}

}  // namespace

TEST_CASE("a group over a thousand jobs tells its end once") {
  const bool on_redis = GENERATE(false, true);
  std::optional<redis_server> redis;
  if (on_redis) redis.emplace();
  group_world w(on_redis ? redis->url() : "");
  counted_server server(w.options, w.handlers);
  REQUIRE(w.client->create_group({"pages"}));
  auto last = job_of("tell", "last");
  last.after.groups = {"pages"};
  REQUIRE(w.client->enqueue(std::move(last)));
  std::vector<new_job> pages;
  for (int i = 0; i < 1'000; ++i) {
    pages.push_back(job_of("page"));
    pages.back().group = "pages";
  }
  for (const auto& stored : w.client->enqueue(std::move(pages)))
    REQUIRE(stored);
  REQUIRE(w.client->seal_group("pages"));
  const auto told = w.client->wait("last", 20s);
  REQUIRE(told);
  CHECK(told->state == job_state::succeeded);
  CHECK(w.runs == 1'000);
  CHECK(w.told == 1);
  CHECK(w.client->group("pages")->succeeded == 1'000);
}

TEST_CASE("an end carries a job, and one that carries what cannot be has failed") {
  group_world w;
  counted_server server(w.options, w.handlers);
  REQUIRE(w.client->enqueue(job_of("carry", "a")));
  CHECK(eventually([&] { return w.client->get("a-next").ok() && is_final(w.client->get("a-next")->state); }, 20s));
  CHECK(w.runs == 1);
  REQUIRE(w.client->enqueue(job_of("carry_wrong", "b")));
  const auto failed = w.client->wait("b", 20s);
  REQUIRE(failed);
  CHECK(failed->state == job_state::failed);
  CHECK(failed->reason.find("job type 'no type'") != std::string::npos);
}

TEST_CASE("a run is given what is left of the time to finish") {
  group_world w;
  counted_server server(w.options, w.handlers);
  auto job = job_of("slow", "slow");
  job.finish_within = 2s;
  REQUIRE(w.client->enqueue(std::move(job)));
  const auto ended = w.client->wait("slow", 20s);
  REQUIRE(ended);
  CHECK(ended->state == job_state::failed);
  CHECK(ended->reason.starts_with("failed: its finish_within was over"));
  CHECK(ended->history.back().cause == "deadline");
  CHECK(ended->history.back().error.starts_with("its finish_within was over"));
}

TEST_CASE("a run that is stopped by the time to finish has failed, whatever becomes of who has no retry left") {
  group_world w;
  w.options.retry = {.attempts = GENERATE(0, 1), .then = when_exhausted::remove};
  counted_server server(w.options, w.handlers);
  auto job = job_of("slow", "slow");
  job.finish_within = 1s;
  REQUIRE(w.client->enqueue(std::move(job)));
  const auto ended = w.client->wait("slow", 20s);
  REQUIRE(ended);
  CHECK(ended->state == job_state::failed);
  CHECK(ended->history.back().cause == "deadline");
}

TEST_CASE("a job that nobody starts in time is ended by the server, by its own clock") {
  group_world w;
  REQUIRE(w.client->pause("default"));
  counted_server server(w.options, w.handlers);
  auto job = job_of("page", "late");
  job.start_within = 50ms;
  REQUIRE(w.client->enqueue(std::move(job)));
  const auto ended = w.client->wait("late", 20s);
  REQUIRE(ended);
  CHECK(ended->state == job_state::deleted);
  CHECK(ended->history.back().cause == "expired");
  CHECK(w.runs == 0);
}

TEST_CASE("the cancel of a group reaches the members that run") {
  const bool on_redis = GENERATE(false, true);
  std::optional<redis_server> redis;
  if (on_redis) redis.emplace();
  group_world w(on_redis ? redis->url() : "");
  counted_server server(w.options, w.handlers);
  REQUIRE(w.client->create_group({"g"}));
  auto slow = job_of("slow", "slow");
  slow.group = "g";
  REQUIRE(w.client->enqueue(std::move(slow)));
  REQUIRE(eventually([&] { return w.client->get("slow")->state == job_state::processing; }, 20s));
  REQUIRE(w.client->cancel_group("g"));
  const auto ended = w.client->wait("slow", 20s);
  REQUIRE(ended);
  CHECK(ended->state == job_state::deleted);
  CHECK(ended->reason == "cancelled: its group g was cancelled");
}

}  // namespace sluice::test
