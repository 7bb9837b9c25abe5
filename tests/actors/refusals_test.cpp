// A server whose store refuses what it asks, for a while or for one thing.
#include <atomic>
#include <filesystem>

#include <sluice/client.hpp>
#include <sluice/server.hpp>

#include "actors/server_world.hpp"
#include "support/catch.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

using std::chrono::steady_clock;

// Jobs that end when they are told.
struct refusing_world {
  redis_server redis;
  std::atomic<int> runs{0};
  std::atomic<bool> go{false};
  server_world w{redis.url()};

  refusing_world() {
    w.handlers.handle("work", [this](job_context& c) {
      ++runs;
      while (!go && !c.stop_requested())
        std::this_thread::yield();
      return outcome::succeeded("done");
    });
  }
  ~refusing_world() { go = true; }

  void harm(const std::string& key) {
    redis.command({"DEL", "{sluice}:" + key});
    redis.command({"SET", "{sluice}:" + key, "harmed"});
  }
  void heal(const std::string& key) { redis.command({"DEL", "{sluice}:" + key}); }
  bool has_refused() {
    const auto calls = redis.info("cmdstat_fcall");
    return !calls.empty() && calls.find("rejected_calls=0,failed_calls=0") == std::string::npos;
  }

  // Redis refuses every write from when it could not save its file until it can.
  void save_fails(bool fails) {
    const auto folder = redis.command({"CONFIG", "GET", "dir"}).elements.at(1).text;
    redis.command({"CONFIG", "SET", "save", "3600 1"});
    if (fails) std::filesystem::create_directory(folder + "/dump.rdb");
    else std::filesystem::remove(folder + "/dump.rdb");
    REQUIRE(!redis.command({"BGSAVE"}).is_error());
    REQUIRE(eventually([&] {
      return redis.info("rdb_bgsave_in_progress") == "0" &&
             redis.info("rdb_last_bgsave_status") == (fails ? "err" : "ok");
    }));
  }
};

}  // namespace

TEST_CASE("a store that takes nothing for three leases costs no job a second run", "[redis]") {
  refusing_world r;
  r.w.options.lease = 2s;
  r.w.options.queues["default"].workers = 4;
  r.w.start();
  sluice::server other(r.w.options, r.w.handlers, r.w.filters);
  REQUIRE(other.start());
  std::vector<job_id> ids;
  for (int i = 0; i < 4; ++i)
    ids.push_back(r.w.enqueue("work"));
  REQUIRE(eventually([&] { return r.runs == 4; }));
  r.save_fails(true);
  r.go = true;  // they end, and nobody can say so
  const auto over = steady_clock::now() + 3 * r.w.options.lease;
  REQUIRE(eventually([&] { return steady_clock::now() > over; }));
  CHECK(r.has_refused());
  r.save_fails(false);
  for (const auto& id : ids) {
    CHECK(r.w.becomes(id, job_state::succeeded));
    CHECK(r.w.get(id).losses == 0);
  }
  CHECK(r.runs == 4);
}

TEST_CASE("a claim that the store refuses keeps no end of its queue waiting", "[redis]") {
  refusing_world r;
  r.w.start();
  r.w.enqueue("work");
  REQUIRE(eventually([&] { return r.runs == 1; }));
  r.harm("ready:default");
  REQUIRE(eventually([&] { return r.has_refused(); }));
  r.go = true;
  CHECK(eventually([&] { return r.redis.command({"ZCARD", "{sluice}:succeeded:default"}).integer == 1; }));
  r.heal("ready:default");
  const auto next = r.w.enqueue("work");
  CHECK(r.w.becomes(next, job_state::succeeded));
}

TEST_CASE("a stop does not wait for an end of a damaged job", "[redis]") {
  refusing_world r;
  r.w.options.grace = 1min;
  r.w.start();
  r.w.enqueue("work");
  REQUIRE(eventually([&] { return r.runs == 1; }));
  r.harm("succeeded:default");
  r.go = true;
  REQUIRE(eventually([&] { return r.has_refused(); }));
  const auto asked = steady_clock::now();
  CHECK(r.w.server->stop().unfinished == 0);
  CHECK(steady_clock::now() - asked < r.w.options.grace / 2);
}

}  // namespace sluice::test
