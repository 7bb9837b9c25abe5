// A server whose store is raised by a newer version while it works.
#include <atomic>

#include "actors/server_world.hpp"
#include "storage/raw_store.hpp"
#include "support/catch.hpp"

namespace sluice::test {

TEST_CASE("a server that meets a newer layout calls on_fatal and puts nothing aside") {
  std::mutex mutex;
  std::vector<error> told;
  server_world w;
  w.options.grace = 1min;
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  REQUIRE(w.becomes(w.enqueue("noop"), job_state::succeeded));
  const auto waits = w.enqueue("noop", "{}", "default", std::chrono::hours(1));
  w.server->on_fatal([&](const error& why) {
    std::lock_guard hold(mutex);
    told.push_back(why);
  });

  raw_store raw(w.folder.file("jobs.db"));
  raw.command({"SET", "schema", "6"});
  CHECK(eventually([&] {
    std::lock_guard hold(mutex);
    return !told.empty();
  }));
  const auto asked = std::chrono::steady_clock::now();
  w.server->stop();
  CHECK(std::chrono::steady_clock::now() - asked < 20s);  // nothing runs, so there is nothing to wait for
  REQUIRE(told.size() == 1);
  CHECK(told[0].code == errc::storage_newer);
  CHECK(told[0].message.find("has layout 6") != std::string::npos);
  CHECK(told[0].message.find("knows layout 5") != std::string::npos);

  raw.command({"SET", "schema", "5"});
  CHECK(w.get(waits).state == job_state::scheduled);
  CHECK(w.counts().quarantined == 0);
}

TEST_CASE("a server whose file is gone waits for no end that nobody can store") {
  std::atomic<bool> runs{false}, may_end{false}, has_ended{false}, is_fatal{false};
  server_world w;
  w.options.grace = 1min;
  w.handlers.handle("noop", [&](job_context&) {
    runs = true;
    while (!may_end)
      std::this_thread::sleep_for(1ms);
    has_ended = true;
  });
  w.start();
  w.server->on_fatal([&](const error&) { is_fatal = true; });
  w.enqueue("noop");
  REQUIRE(eventually([&] { return runs.load(); }));
  const auto file = w.folder.file("jobs.db");
  std::filesystem::rename(file, file + ".gone");
  may_end = true;
  REQUIRE(eventually([&] { return is_fatal.load(); }));
  const auto asked = std::chrono::steady_clock::now();
  w.server->stop();
  CHECK(has_ended.load());
  CHECK(std::chrono::steady_clock::now() - asked < 20s);
}

TEST_CASE("a server that cannot raise an older layout does not start and may be started again") {
  server_world w;
  w.handlers.handle("noop", [](job_context&) {});
  w.enqueue("noop");
  raw_store raw(w.folder.file("jobs.db"));
  raw.command({"SET", "schema", "3"});
  sluice::server server(w.options, w.handlers, w.filters);
  const auto refused = server.start();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == errc::storage_older);
  raw.command({"SET", "schema", "5"});
  CHECK(server.start().ok());
}

}  // namespace sluice::test
