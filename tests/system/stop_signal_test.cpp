// A program of one's own that stops its server when it is asked to end (<sluice/stop_signal.hpp>).
#include "support/catch.hpp"
#include "system/worker_world.hpp"

namespace sluice::test {
namespace {

bool said(const process& p, const std::string& what) { return p.log().find(what) != std::string::npos; }

// A program that serves by sluice::run.
process running(worker_world& w) {
  w.configure("a.json", {{"server_name", "a"}});
  auto words = w.words_of_worker("a");
  words.emplace_back("run");
  auto p = w.serve(std::move(words), "a.log");
  REQUIRE(eventually([&] { return said(p, "serving until SIGTERM or SIGINT"); }));
  return p;
}

}  // namespace

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

TEST_CASE("a program that serves by run ends in order at SIGTERM and at SIGINT, and SIGHUP changes nothing") {
  for (const int signal : {SIGTERM, SIGINT}) {
    worker_world w;
    auto p = running(w);
    p.signal(SIGHUP);
    w.enqueue(noops(4, {{"until_stopped", true}}));
    REQUIRE(eventually([&] { return w.noted("begin", {"a"}) == 4; }));
    p.signal(signal);
    p.signal(signal);  // as `timeout` sends it
    CHECK(p.exit_code(20s) == 0);
    CHECK(w.counts().enqueued == 4);
    CHECK(w.client->servers()->empty());
  }
}

TEST_CASE("a program that serves by run claims nothing new after SIGUSR1 and goes on with what runs") {
  worker_world w;
  w.enqueue({noop("runs", {{"until_told", true}})});
  auto p = running(w);
  REQUIRE(eventually([&] { return w.noted("begin", {"a"}) == 1; }));
  p.signal(SIGUSR1);
  REQUIRE(eventually([&] { return said(p, "claiming nothing new"); }));
  w.enqueue({noop("waits")});
  w.tell("a");
  REQUIRE(eventually([&] { return w.all_succeeded(1); }));
  p.signal(SIGTERM);
  CHECK(p.exit_code(20s) == 0);
  CHECK(w.get("waits").state == job_state::enqueued);
  CHECK(w.get("waits").history.empty());
}

TEST_CASE("a program that serves by run leaves at once when it is told again while a job ignores its stop") {
  worker_world w;
  w.enqueue(noops(1, {{"until_told", true}}));
  auto p = running(w);
  REQUIRE(eventually([&] { return w.noted("begin", {"a"}) == 1; }));
  p.signal(SIGTERM);
  REQUIRE(eventually([&] { return said(p, "giving running jobs"); }));
  CHECK(eventually([&] {
    p.signal(SIGTERM);
    return !p.alive();
  }));
  CHECK(p.exit_code(1s) == 128 + SIGTERM);
  CHECK(said(p, "second signal"));
}

TEST_CASE("a program that runs a server which was not started exits with 1 and does not say that it serves") {
  worker_world w;
  w.configure("a.json", {{"server_name", "a"}});
  auto words = w.words_of_worker("a");
  words.emplace_back("run-unstarted");
  process p(std::move(words), w.folder.file("a.log"));
  CHECK(p.exit_code(10s) == 1);
  CHECK(said(p, "the server does not run"));
  CHECK_FALSE(said(p, "serving until"));
}

TEST_CASE("a program that serves by run exits with 1 and says why when its store was removed") {
  worker_world w;
  auto p = running(w);
  std::filesystem::rename(w.folder.file("jobs.db"), w.folder.file("elsewhere.db"));
  CHECK(p.exit_code(30s) == 1);
  CHECK(said(p, "the server cannot go on: storage_lost"));
}

}  // namespace sluice::test
