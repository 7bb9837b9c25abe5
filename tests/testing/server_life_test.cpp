// What becomes of a server of a world while its handlers run: stops, cancels, timeouts, lost leases, and another server
// beside it. The code that does it is that of a real server.
#include <sluice/testing.hpp>

#include <thread>

#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using testing::world;

namespace {

new_job work_of(std::string type, std::string id = {}) {
  new_job job;
  job.type = job_type(std::move(type));
  job.id = job_id(std::move(id));
  return job;
}

void store(world& w, new_job job) { REQUIRE(w.client().enqueue(std::move(job)).ok()); }

server_options with_timeout(duration timeout) {
  server_options options;
  options.queues = {{"*", {}}};
  options.timeout = timeout;
  options.retry.attempts = 1;
  options.retry.delay = 1min;
  return options;
}

}  // namespace

TEST_CASE("A handler is asked to stop when its timeout is over, and its run has failed", "[testing]") {
  world w(with_timeout(10min));
  auto reason = stop_reason::none;
  w.handle("slow", [&](job_context& c) {
    w.advance(9min);
    CHECK_FALSE(c.stop_requested());
    w.advance(1min);
    reason = c.stop_reason();
    c.throw_if_stop_requested();
  });
  const auto seen = w.run(work_of("slow"));
  CHECK(reason == stop_reason::timeout);
  CHECK(seen.state == job_state::scheduled);
  CHECK(seen.reason.find("timed out") != std::string::npos);
  CHECK(seen.history.back().cause == "timed_out");
}

TEST_CASE("A handler that ignores its stop request is a failed run while it goes on", "[testing]") {
  world w(with_timeout(1min));
  job_state while_it_ran{};
  w.handle("deaf", [&](job_context& c) {
    w.advance(1min + 11s);
    while_it_ran = w.client().get(c.id())->state;
    return std::string("late");
  });
  const auto seen = w.run(work_of("deaf"));
  CHECK(while_it_ran == job_state::scheduled);
  CHECK(seen.state == job_state::scheduled);
  CHECK(seen.result.empty());
  w.advance(1min);
  CHECK(w.drain().runs == 1);  // its worker was replaced
}

TEST_CASE("A handler hears that its job is cancelled, and the job is deleted", "[testing]") {
  world w;
  auto reason = stop_reason::none;
  bool was_told_before = true;
  w.handle("work", [&](job_context& c) {
    w.advance(1s);  // its lease was renewed just now
    REQUIRE(w.client().cancel(c.id()).ok());
    was_told_before = c.stop_requested();
    w.advance(20ms);
    reason = c.stop_reason();
    c.throw_if_stop_requested();
  });
  store(w, work_of("work", "a"));
  CHECK(w.drain().deleted == 1);
  CHECK_FALSE(was_told_before);
  CHECK(reason == stop_reason::cancelled);
  CHECK(w.only("work").history.back().cause == "cancelled");
}

TEST_CASE("A server that stops asks its handler to, and begins nothing any more", "[testing]") {
  world w;
  auto reason = stop_reason::none;
  w.handle("work", [&](job_context& c) {
    w.stop();
    reason = c.stop_reason();
    c.throw_if_stop_requested();
  });
  store(w, work_of("work", "a"));
  store(w, work_of("work", "b"));
  const auto done = w.drain();
  CHECK(reason == stop_reason::shutdown);
  CHECK(done.runs == 1);
  CHECK(done.given_back == 1);
  CHECK(done.left.size() == 2);
  world other(w, {.queues = {{"*", {}}}});
  other.handle("work", [](job_context&) {});
  CHECK(other.drain().succeeded == 2);
}

TEST_CASE("A lease that its server renews outlasts the longest handler", "[testing]") {
  world w;
  world other(w, {.queues = {{"*", {}}}});
  int runs = 0;
  w.handle("long", [&](job_context& c) {
    ++runs;
    w.advance(24h);
    CHECK_FALSE(c.stop_requested());
    CHECK(other.drain().runs == 0);
  });
  other.handle("long", [&](job_context&) { ++runs; });
  CHECK(w.run(work_of("long")).state == job_state::succeeded);
  CHECK(runs == 1);
}

TEST_CASE("What a server that sleeps has in hand is taken back by another, and its own end is refused", "[testing]") {
  world w;
  world other(w, {.queues = {{"*", {}}}});
  auto reason = stop_reason::none;
  w.handle("work", [&](job_context& c) {
    w.suspend(10min);
    reason = c.stop_reason();
    CHECK(other.drain().succeeded == 1);
    return std::string("of who slept");
  });
  other.handle("work", [](job_context&) { return std::string("of the other"); });
  store(w, work_of("work", "a"));
  const auto done = w.drain();
  CHECK(reason == stop_reason::lost);
  CHECK(done.runs == 1);
  CHECK(done.succeeded == 0);
  const auto seen = w.only("work");
  CHECK(seen.state == job_state::succeeded);
  CHECK(seen.result == "of the other");
  CHECK(seen.losses == 1);
}

TEST_CASE("A server that is started after another has ended runs jobs from the first on", "[testing]") {
  world w;
  int runs = 0;
  for (int i = 0; i < 3; ++i) {
    world one(w, {.queues = {{"*", {}}}});
    one.handle("work", [&](job_context&) { ++runs; });
    for (int n = 0; n < 3; ++n)
      store(one, work_of("work"));
    CHECK(one.drain().succeeded == 3);
  }
  CHECK(runs == 9);
}

TEST_CASE("A server that stops keeps its lease until its handler has ended", "[testing]") {
  world w;
  world other(w, {.queues = {{"*", {}}}});
  int others = 0;
  other.handle("work", [&](job_context&) { ++others; });
  w.handle("work", [&](job_context&) {
    w.stop();
    w.advance(10min);
    other.drain();
  });
  store(w, work_of("work"));
  CHECK(w.drain().succeeded == 1);
  CHECK(others == 0);
  const auto servers = w.client().servers();
  REQUIRE(servers.ok());
  CHECK(servers->size() == 1);  // who has stopped has told so
}

TEST_CASE("What is bound to a stop runs on the thread of the test, before `advance` returns", "[testing]") {
  world w(with_timeout(1min));
  const auto here = std::this_thread::get_id();
  std::vector<std::thread::id> called;
  w.handle("slow", [&](job_context& c) {
    const std::stop_callback noted(c.stop(), [&] { called.push_back(std::this_thread::get_id()); });
    w.advance(1min);
    CHECK(called == std::vector{here});
  });
  w.run(work_of("slow"));
  CHECK(called.size() == 1);
}

TEST_CASE("A run is lost although its handler has moved the clock", "[testing]") {
  world w;
  w.handle("work", [&](job_context&) { w.advance(1h); });
  store(w, work_of("work"));
  const auto lost = w.lose_next();
  REQUIRE(lost);
  CHECK(lost->state == job_state::enqueued);
  CHECK(lost->losses == 1);
  CHECK(w.drain().succeeded == 1);
}

TEST_CASE("The clock goes no further than it can count", "[testing]") {
  world w;
  CHECK_THROWS_AS(w.advance(duration::max()), std::runtime_error);
  CHECK_THROWS_AS(w.suspend(-1s), std::runtime_error);
  w.advance(24h * 36'500);
}

TEST_CASE("A handler sees what is due next of jobs, and not its own lease", "[testing]") {
  world w;
  std::optional<duration> due = 1s;
  w.handle("work", [&](job_context&) { due = w.next_due(); });
  w.run(work_of("work"));
  CHECK_FALSE(due);
}

TEST_CASE("Two servers share the permits of a semaphore", "[testing]") {
  server_options options;
  options.queues = {{"*", {}}};
  options.throttlers.resize(1);
  options.throttlers[0].kind = throttler_kind::semaphore;
  options.throttlers[0].name = "api";
  options.throttlers[0].limit = 1;
  options.jobs["call"].throttle = {"semaphore:api"};
  world one(options);
  world other(one, options);
  std::uint32_t beside = 0;
  one.handle("call", [&](job_context&) { beside = other.drain().runs; });
  other.handle("call", [](job_context&) {});
  store(one, work_of("call", "a"));
  store(one, work_of("call", "b"));
  REQUIRE(one.run_next());
  CHECK(beside == 0);
  CHECK(other.drain().succeeded == 1);
}

TEST_CASE("A function stands for a throttler that is an actor", "[testing]") {
  server_options options;
  options.queues = {{"*", {}}};
  options.jobs["call"].throttle = {"custom:door"};
  world w(options);
  std::vector<std::string> ran, ended;
  bool is_open = false;
  w.throttler(
      "door",
      [&](const throttle_request& asked) {
        if (asked.about->args == "\"never\"") return throttle_verdict{admission::rejected, {}, "not with these"};
        return is_open ? throttle_verdict{} : throttle_verdict{admission::deferred, 5s};
      },
      [&](const throttled_end& end) { ended.push_back(end.about->id.value + (end.failed ? " failed" : "")); });
  w.handle("call", [&](job_context& c) { ran.push_back(c.id().value); });
  store(w, work_of("call", "a"));
  auto never = work_of("call", "b");
  never.args = "\"never\"";
  store(w, std::move(never));
  CHECK(w.drain().failed == 1);
  CHECK(w.client().get(job_id("a"))->state == job_state::throttled);
  CHECK(w.client().get(job_id("b"))->reason.find("not with these") != std::string::npos);
  is_open = true;
  CHECK(w.next_due() == 5s);
  w.advance(5s);
  CHECK(w.drain().succeeded == 1);
  CHECK(ran == std::vector<std::string>{"a"});
  CHECK(ended == std::vector<std::string>{"a"});
}

TEST_CASE("What a function for a throttler throws reaches the test, and the world goes on", "[testing]") {
  server_options options;
  options.queues = {{"*", {}}};
  options.jobs["call"].throttle = {"custom:door"};
  world w(options);
  bool decide_throws = true, ended_throws = true;
  const auto fails = [](bool& once) {
    if (std::exchange(once, false)) throw std::runtime_error("not now");
  };
  w.throttler(
      "door",
      [&](const throttle_request&) {
        fails(decide_throws);
        return throttle_verdict{};
      },
      [&](const throttled_end&) { fails(ended_throws); });
  w.handle("call", [](job_context&) {});
  store(w, work_of("call", "a"));
  store(w, work_of("call", "b"));
  CHECK_THROWS_WITH(w.drain(), "not now");
  CHECK(w.client().get(job_id("a"))->state == job_state::enqueued);
  CHECK_THROWS_WITH(w.drain(), "not now");
  CHECK(w.client().get(job_id("a"))->state == job_state::succeeded);
  CHECK(w.drain().succeeded == 1);
}

TEST_CASE("What a world calls cannot drive it", "[testing]") {
  server_options options;
  options.queues = {{"*", {}}};
  options.jobs["call"].throttle = {"custom:door"};
  world w(options);
  w.handle("call", [](job_context&) {});
  store(w, work_of("call"));
  std::function<void()> drives;
  w.throttler("door", [&](const throttle_request&) {
    drives();
    return throttle_verdict{};
  });
  CHECK_THROWS_AS(w.throttler("none", {}), std::runtime_error);
  for (const auto& one : {std::function<void()>([&] { w.advance(1s); }), std::function<void()>([&] { w.drain(); }),
                          std::function<void()>([&] { w.handle("other", [](job_context&) {}); })}) {
    drives = one;
    CHECK_THROWS_AS(w.drain(), std::runtime_error);
  }
  drives = [] {};
  CHECK(w.drain().succeeded == 1);
}
