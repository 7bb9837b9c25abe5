// Jobs that run after others, with a server that runs them.
#include "actors/server_world.hpp"
#include "support/catch.hpp"
#include "support/counted_server.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

// A world whose server hears of work by hints only, and has no sweep to help it.
struct chain_world : server_world {
  std::atomic<int> runs{0};

  explicit chain_world(const std::string& url = {}) : server_world(url) {
    handlers.handle("count", [&](job_context& job) {
      ++runs;
      return outcome::succeeded(job.args());
    });
    handlers.handle("sum", [&](job_context& job) {
      int sum = 0;
      const auto parents = client->parents(job.id());
      if (!parents) return outcome::failed(to_string(parents.error()));
      for (const auto& parent : *parents)
        sum += std::stoi(parent.result);
      return outcome::succeeded(std::to_string(sum));
    });
    options.sweep_interval = 1min;
    options.queues["other"] = {1, 0, {}, {}};
  }

  result<job_id> put(const std::string& id, const std::vector<std::string>& parents, const std::string& queue = {},
                     const std::string& type = "count", const std::string& args = "1") {
    new_job job;
    job.id = job_id(id);
    job.type = job_type(type);
    job.queue = queue_name(queue);
    job.args = args;
    for (const auto& parent : parents)
      job.after.parents.emplace_back(parent);
    return client->enqueue(std::move(job));
  }
};

}  // namespace

TEST_CASE("a line of children over two queues runs to its end, each by the step that ends its parent") {
  const bool on_redis = GENERATE(false, true);
  std::optional<redis_server> redis;
  if (on_redis) redis.emplace();
  chain_world w(on_redis ? redis->url() : "");
  counted_server server(w.options, w.handlers);
  REQUIRE(w.put("c0", {}));
  for (int i = 1; i < 100; ++i)
    REQUIRE(w.put("c" + std::to_string(i), {"c" + std::to_string(i - 1)}, i % 2 == 0 ? "" : "other"));
  CHECK(eventually([&] { return w.runs == 100; }, 20s));
}

TEST_CASE("a parent of more children than a step releases lets all of them go at once") {
  const bool on_redis = GENERATE(false, true);
  std::optional<redis_server> redis;
  if (on_redis) redis.emplace();
  chain_world w(on_redis ? redis->url() : "");
  REQUIRE(w.put("parent", {}));
  std::vector<new_job> children;
  for (int i = 0; i < 1'000; ++i) {
    new_job child;
    child.type = job_type("count");
    child.after.parents = {job_id("parent")};
    children.push_back(std::move(child));
  }
  for (const auto& stored : w.client->enqueue(std::move(children)))
    REQUIRE(stored);
  counted_server server(w.options, w.handlers);
  CHECK(eventually([&] { return w.runs == 1'001; }, 20s));
}

TEST_CASE("a handler reads what the parents of its job returned") {
  chain_world w;
  counted_server server(w.options, w.handlers);
  REQUIRE(w.put("a", {}, "", "count", "20"));
  REQUIRE(w.put("b", {}, "", "count", "22"));
  REQUIRE(w.put("total", {"a", "b"}, "", "sum"));
  const auto total = w.client->wait(job_id("total"), 20s);
  REQUIRE(total);
  CHECK(total->result == "42");
}

}  // namespace sluice::test
