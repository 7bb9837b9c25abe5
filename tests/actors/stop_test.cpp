// Starting and stopping, in any order and any number of times.
#include <atomic>
#include <cstdlib>
#include <future>

#include "actors/server_world.hpp"
#include "storage/raw_store.hpp"
#include "support/catch.hpp"

namespace sluice::test {

TEST_CASE("stop before start and stop twice do nothing") {
  server_world w;
  w.server = std::make_unique<sluice::server>(w.options, w.handlers);
  CHECK(w.server->stop().unfinished == 0);
  REQUIRE(w.server->start());
  CHECK(w.server->stop().unfinished == 0);
  CHECK(w.server->stop().unfinished == 0);
}

TEST_CASE("start while running is an error and start after stop is not") {
  server_world w;
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  CHECK_FALSE(w.server->start());
  w.server->stop();
  REQUIRE(w.server->start());
  CHECK(w.becomes(w.enqueue("noop"), job_state::succeeded));
}

TEST_CASE("start with options out of range says which and starts nothing") {
  server_world w;
  w.options.lease = 1ms;
  sluice::server s(w.options, w.handlers);
  const auto started = s.start();
  REQUIRE_FALSE(started);
  CHECK(started.error().message.find("lease") != std::string::npos);
}

TEST_CASE("a quiet server claims nothing new") {
  server_world w;
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  REQUIRE(w.becomes(w.enqueue("noop"), job_state::succeeded));
  w.server->quiet();
  const auto id = w.enqueue("noop");
  w.server->stop();
  CHECK(w.get(id).state == job_state::enqueued);
  CHECK(w.get(id).history.empty());
}

TEST_CASE("jobs that heed the stop go back to their queue with no attempt used") {
  server_world w;
  w.options.grace = 5s;
  w.handlers.handle("long", [](job_context& c) {
    while (!c.stop_requested())
      std::this_thread::yield();
    c.throw_if_stop_requested();
  });
  w.start();
  std::vector<job_id> ids;
  for (int i = 0; i < 6; ++i)
    ids.push_back(w.enqueue("long"));
  REQUIRE(eventually([&] { return w.counts().processing == 2; }));
  CHECK(w.server->stop().unfinished == 0);
  for (const auto& id : ids) {
    CHECK(w.get(id).state == job_state::enqueued);
    CHECK(w.get(id).attempt == 0);
  }
  CHECK(w.client->servers()->empty());
}

TEST_CASE("a handler that ignores the stop is reported and given back only on demand") {
  server_world w;
  auto release = std::make_shared<std::atomic<bool>>(false);
  auto began = std::make_shared<std::atomic<bool>>(false);
  w.options.grace = 0s;
  w.handlers.handle("stuck", [release, began](job_context&) {
    *began = true;
    began->notify_all();
    release->wait(false);
  });
  w.start();
  const auto id = w.enqueue("stuck");
  began->wait(false);
  CHECK(w.server->stop().unfinished == 1);
  CHECK(w.get(id).state == job_state::processing);
  w.server->give_back_unfinished();
  CHECK(w.get(id).state == job_state::enqueued);
  CHECK(w.get(id).attempt == 0);
  *release = true;
  release->notify_all();
}

TEST_CASE("a handler that stops its own server has failed, and may stop another") {
  server_world other;
  server_world w;
  w.options.retry.attempts = 0;
  w.handlers.handle("own", [&](job_context&) { w.server->stop(); });
  w.handlers.handle("other", [&](job_context&) { other.server->stop(); });
  other.start();
  w.start();
  const auto own = w.enqueue("own");
  REQUIRE(w.becomes(own, job_state::failed));
  CHECK(w.get(own).history.back().error.find("a handler cannot stop its own server") != std::string::npos);
  CHECK(w.becomes(w.enqueue("other"), job_state::succeeded));
  CHECK(other.client->servers()->empty());
}

TEST_CASE("a stop waits for an on_fatal that is under way") {
  std::atomic<bool> called{false}, go{false};
  server_world w;
  w.options.grace = 0s;
  w.start();
  w.server->on_fatal([&](const error&) {
    called = true;
    go.wait(false);
  });
  raw_store(w.folder.file("jobs.db")).command({"SET", "schema", "99"});
  REQUIRE(eventually([&] { return called.load(); }));
  auto stopping = std::async(std::launch::async, [&] { w.server->stop(); });
  CHECK(stopping.wait_for(2s) == std::future_status::timeout);  // without grace a stop takes less
  go = true;
  go.notify_all();
  stopping.get();
}

TEST_CASE("a server may be started on one thread and stopped on another") {
  server_world w;
  std::thread([&] { w.start(); }).join();
  std::thread([&] { w.server->stop(); }).join();
  SUCCEED();
}

TEST_CASE("a thousand starts and stops with jobs running lose nothing and leave nothing behind") {
  std::atomic<int> runs{0};
  server_world w;
  w.options.grace = 5s;
  w.handlers.handle("count", [&](job_context&) {
    runs.fetch_add(1);
    runs.notify_all();
  });
  constexpr int cycles = 1000;
  for (int i = 0; i < cycles; ++i) {
    const int before = runs.load();
    for (int n = 0; n < 3; ++n)
      w.enqueue("count");
    w.start();
    // Every other cycle stops at once, with claims under way; the rest with jobs running.
    if (i % 2 == 0) runs.wait(before);
    w.server->stop();
  }
  w.start();
  REQUIRE(eventually([&] { return w.counts().succeeded == 3 * cycles; }, 60s));
  CHECK(runs.load() == 3 * cycles);  // none twice: every stop gave back what had not begun
  w.server->stop();
  const auto c = w.counts();
  CHECK(c.enqueued + c.processing + c.scheduled + c.failed + c.deleted == 0);
}

TEST_CASE("a stop callback that blocks costs no other job its lease and no stop its end") {
  struct flags {
    std::atomic<bool> blocks{false}, over{false};
    std::atomic<int> runs{0};
  };
  const auto seen = std::make_shared<flags>();  // a thread that was left behind may look later
  server_world w;
  w.options.lease = 2s;
  w.options.queues["default"].workers = 2;
  w.options.timeout = 100ms;
  w.handlers.handle("blocks", [seen](job_context& c) {
    const std::stop_callback forever(c.stop(), [seen] {
      seen->blocks = true;
      seen->over.wait(false);
    });
    seen->over.wait(false);
    return outcome::succeeded();
  });
  type_options patient;
  patient.timeout = 1min;
  w.options.jobs["lasts"] = patient;
  w.handlers.handle("lasts", [seen](job_context&) {
    ++seen->runs;
    seen->over.wait(false);
    return outcome::succeeded();
  });
  w.start();
  const auto lasts = w.enqueue("lasts");
  w.enqueue("blocks");
  REQUIRE(eventually([&] { return seen->blocks.load(); }));
  const auto later = std::chrono::steady_clock::now() + 3 * w.options.lease;
  REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > later; }));
  CHECK(w.get(lasts).losses == 0);
  CHECK(seen->runs == 1);
  seen->over = true;
  seen->over.notify_all();
  CHECK(w.becomes(lasts, job_state::succeeded));
}

}  // namespace sluice::test
