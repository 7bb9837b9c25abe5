// Failed jobs in numbers, requeued by a filter while the servers of their queue go on.
#include <atomic>
#include <map>
#include <mutex>

#include <sluice/server.hpp>

#include "core/text.hpp"
#include "dashboard/dashboard_world.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

using json = nlohmann::ordered_json;

// Each of so many jobs fails once and, once requeued, succeeds; others go on meanwhile.
void requeue_all(int count, const std::string& store) {
  dashboard_world w{dashboard_world::changing(), store};
  std::mutex mutex;
  std::map<std::string, int> runs;
  std::atomic<std::uint64_t> others{0};
  server_options options;
  options.storage = w.url;
  options.retry.attempts = 0;
  options.retention.succeeded = {};
  options.queues = {{"default", {4, 256, {}, {}}}};
  server s(options);
  s.handle("twice", [&](job_context& job) {
    std::lock_guard hold(mutex);
    if (++runs[job.id().value] == 1) throw std::runtime_error("not yet");
  });
  s.handle("noop", [&](job_context&) { ++others; });
  REQUIRE(s.start());
  for (int made = 0; made < count; made += 1000) {
    std::vector<new_job> some;
    for (int i = made; i < std::min(made + 1000, count); ++i) {
      some.push_back(dashboard_world::job(cat("twice-", i)));
      some.back().type = job_type("twice");
    }
    w.enqueue(some);
  }
  const auto counts = [&] { return w.store().queues()->at(0); };
  const auto patience = std::chrono::seconds(120);
  REQUIRE(eventually([&] { return counts().failed == static_cast<std::uint64_t>(count); }, patience));

  const json filter{{"state", "failed"}, {"type", "twice"}};
  std::uint64_t done = 0, refused = 0;
  int slices = 0, enqueued = 0;
  std::string after;
  do {
    w.enqueue({dashboard_world::job(cat("beside-", enqueued++))});
    const auto said =
        w.ask("POST", "/api/v1/jobs/actions",
              {{"action", "requeue"}, {"filter", filter}, {"expected_count", count - done}, {"after", after}});
    REQUIRE(said.status == 200);
    const auto slice = json::parse(said.body);
    done += slice.at("done").get<std::uint64_t>();
    refused += slice.at("refused").get<std::uint64_t>();
    after = slice.at("next");
    ++slices;
  } while (!after.empty() && done < static_cast<std::uint64_t>(count));
  CHECK(done == static_cast<std::uint64_t>(count));
  CHECK(refused == 0);
  CHECK(slices >= count / 1200);
  const auto all = static_cast<std::uint64_t>(count + enqueued);
  REQUIRE(eventually([&] { return counts().succeeded == all; }, patience));
  CHECK(counts().failed == 0);
  CHECK(others == static_cast<std::uint64_t>(enqueued));
  s.stop();
  CHECK(runs.size() == static_cast<std::size_t>(count));
  for (const auto& [id, times] : runs)
    if (times != 2) FAIL(id << " ran " << times << " times");
  const auto acts = w.get("/api/v1/log").at("acts");
  std::uint64_t noted = 0;
  for (const auto& act : acts)
    noted += act.at("count").get<std::uint64_t>();
  CHECK(noted == done);
}

}  // namespace

TEST_CASE("failed jobs are requeued by a filter, each once, while the queue goes on") { requeue_all(3000, {}); }

TEST_CASE("100,000 failed jobs are requeued by a filter on SQLite", "[.long]") { requeue_all(100'000, {}); }

TEST_CASE("100,000 failed jobs are requeued by a filter on Redis", "[.long]") {
  redis_server redis;
  requeue_all(100'000, redis.url());
}

}  // namespace sluice::test
