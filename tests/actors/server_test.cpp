#include <pthread.h>

#include <atomic>
#include <sluice/client.hpp>
#include <sluice/server.hpp>

#include "actors/server_world.hpp"
#include "core/queues.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/measure.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

struct strange {};  // no std::exception

}  // namespace

TEST_CASE("a job runs and its result is stored") {
  server_world w;
  w.handlers.handle("greet", [](job_context& c) { return "hello " + c.args(); });
  w.start();
  const auto id = w.enqueue("greet", "\"world\"");
  REQUIRE(w.becomes(id, job_state::succeeded));
  const auto j = w.get(id);
  CHECK(j.result == "hello \"world\"");
  CHECK(j.attempt == 1);
  REQUIRE(j.history.size() == 1);
  CHECK(j.history[0].cause == "succeeded");
  CHECK(j.history[0].error.empty());
}

TEST_CASE("whatever a handler throws is a failed run with its text") {
  server_world w;
  w.options.retry.attempts = 0;
  w.handlers.handle("exception", [](job_context&) { throw std::runtime_error("the reason"); });
  w.handlers.handle("text", [](job_context&) { throw "a text"; });
  w.handlers.handle("number", [](job_context&) { throw 42; });
  w.handlers.handle("strange", [](job_context&) { throw strange{}; });
  w.handlers.handle("error", [](job_context&) { throw error{errc::io_error, "smtp is down"}; });
  w.start();
  for (const auto& [type, text] : {std::pair("exception", "the reason"),
                                   {"text", "a text"},
                                   {"number", "no std::exception"},
                                   {"strange", "no std::exception"},
                                   {"error", "io_error: smtp is down"}}) {
    const auto id = w.enqueue(type);
    REQUIRE(w.becomes(id, job_state::failed));
    CHECK(w.get(id).history.back().error.find(text) != std::string::npos);
  }
}

TEST_CASE("a handler that ends its thread is a failed run and its worker is replaced") {
  server_world w;
  w.options.queues["default"].workers = 1;
  w.options.retry.attempts = 0;
  w.handlers.handle("exit", [](job_context&) { ::pthread_exit(nullptr); });
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  const auto bad = w.enqueue("exit");
  const auto good = w.enqueue("noop");
  REQUIRE(w.becomes(bad, job_state::failed));
  CHECK(w.get(bad).history.back().cause == "worker_died");
  CHECK(w.becomes(good, job_state::succeeded));
}

TEST_CASE("a handler that ignores its timeout is given up and its worker is replaced") {
  const auto release = std::make_shared<std::atomic<bool>>(false);  // its thread may outlive the server
  server_world w;
  w.options.queues["default"].workers = 1;
  w.options.retry.attempts = 0;
  w.options.grace = 0s;
  w.options.jobs["stuck"].timeout = 20ms;
  w.handlers.handle("stuck", [release](job_context&) { release->wait(false); });
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  const auto stuck = w.enqueue("stuck");
  const auto after = w.enqueue("noop");
  CHECK(w.becomes(after, job_state::succeeded));
  CHECK(w.becomes(stuck, job_state::failed));
  CHECK(w.get(stuck).history.back().cause == "timed_out");
  *release = true;
  release->notify_all();
  w.server->stop();
}

TEST_CASE("a handler that heeds its timeout has failed and may be retried") {
  server_world w;
  w.options.retry.attempts = 1;
  w.options.retry.delay = 1ms;
  w.options.jobs["slow"].timeout = 20ms;
  w.handlers.handle("slow", [](job_context& c) {
    while (!c.stop_requested())
      std::this_thread::yield();
    c.throw_if_stop_requested();
  });
  w.start();
  const auto id = w.enqueue("slow");
  REQUIRE(w.becomes(id, job_state::failed));
  CHECK(w.get(id).history.size() == 2);
  CHECK(w.get(id).history.back().cause == "timed_out");
}

TEST_CASE("a handler may say when to run again and that is no failure") {
  server_world w;
  w.options.retry.attempts = 0;
  w.handlers.handle("later", [](job_context& c) {
    return c.attempt() < 3 ? outcome::retry_in(1ms, "not yet") : outcome::succeeded("now");
  });
  w.start();
  const auto id = w.enqueue("later");
  REQUIRE(w.becomes(id, job_state::succeeded));
  CHECK(w.get(id).attempt == 3);
}

TEST_CASE("a run that is put off without a reason says that its handler asked for it") {
  server_world w;
  w.handlers.handle("returns", [](job_context&) { return outcome::retry_in(1h); });
  w.handlers.handle("throws", [](job_context& c) { c.retry_in(1h); });
  w.start();
  for (const char* type : {"returns", "throws"}) {
    const auto id = w.enqueue(type);
    REQUIRE(w.becomes(id, job_state::scheduled));
    CHECK(w.get(id).reason.find("its handler asked for it") != std::string::npos);
  }
}

TEST_CASE("a handler may say that trying again is useless") {
  server_world w;
  w.handlers.handle("never", [](job_context&) { return outcome::do_not_retry("it is wrong for ever"); });
  w.start();
  const auto id = w.enqueue("never");
  REQUIRE(w.becomes(id, job_state::failed));
  CHECK(w.get(id).attempt == 1);
}

TEST_CASE("retries are counted per queue and the last failure ends as the queue says") {
  server_world w;
  w.options.queues["default"].retry.attempts = 2;
  w.options.queues["default"].retry.delay = 1ms;
  w.options.queues["other"].workers = 1;
  w.options.queues["other"].retry.attempts = 0;
  w.options.queues["other"].retry.then = when_exhausted::remove;
  w.handlers.handle("bad", [](job_context&) { throw std::runtime_error("no"); });
  w.start();
  const auto first = w.enqueue("bad");
  const auto second = w.enqueue("bad", "{}", "other");
  CHECK(w.becomes(first, job_state::failed));
  CHECK(w.get(first).attempt == 3);
  CHECK(w.get(first).queue.value == "default");
  CHECK(w.becomes(second, job_state::deleted));
  CHECK(w.get(second).attempt == 1);
}

TEST_CASE("a queue whose workers are all busy holds up no other queue") {
  std::atomic<bool> release{false};
  server_world w;
  w.options.queues["heavy"].workers = 1;
  w.handlers.handle("heavy", [&](job_context&) { release.wait(false); });
  w.handlers.handle("light", [](job_context&) {});
  w.start();
  const auto heavy = w.enqueue("heavy", "{}", "heavy");
  const auto behind = w.enqueue("heavy", "{}", "heavy");
  REQUIRE(w.becomes(heavy, job_state::processing));
  for (int i = 0; i < 20; ++i)
    CHECK(w.becomes(w.enqueue("light"), job_state::succeeded));
  CHECK(w.get(behind).state == job_state::enqueued);
  release = true;
  release.notify_all();
  CHECK(w.becomes(behind, job_state::succeeded));
}

TEST_CASE("a queue that matches a pattern gets a pool of its own") {
  server_world w;
  w.options.queues["tenant-*-queue"].workers = 1;
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  CHECK(w.becomes(w.enqueue("noop", "{}", "tenant-7-queue"), job_state::succeeded));
  CHECK(w.becomes(w.enqueue("noop", "{}", "tenant-8-queue"), job_state::succeeded));
}

TEST_CASE("a queue of a pattern counts as served until its server stops, and not after it") {
  server_world w;
  w.options.queues = {{"tenant-*", {1, 0, {}, {}}}};
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  CHECK(w.becomes(w.enqueue("noop", "{}", "tenant-7"), job_state::succeeded));
  w.server->stop();
  const auto why = w.client->explain(w.enqueue("noop", "{}", "tenant-7"));
  REQUIRE(why.ok());
  CHECK(why->reason == explain_reason::unserved);
}

TEST_CASE("a running job that is deleted is asked to stop and its outcome is refused") {
  server_world w;
  w.options.lease = 2s;
  w.handlers.handle("long", [](job_context& c) {
    while (!c.stop_requested())
      std::this_thread::yield();
  });
  w.start();
  const auto id = w.enqueue("long");
  REQUIRE(w.becomes(id, job_state::processing));
  REQUIRE(w.client->remove(id));
  REQUIRE(w.becomes(w.enqueue("long"), job_state::processing));
  CHECK(w.get(id).state == job_state::deleted);
}

TEST_CASE("an end that the store cannot take holds up no other job of its queue and is told once it can") {
  redis_server redis;
  server_world w(redis.url());
  w.options.queues["default"].workers = 1;
  w.handlers.handle("succeeds", [](job_context&) { return "done"; });
  w.handlers.handle("fails", [](job_context&) { return outcome::do_not_retry("no"); });
  w.start();
  redis.command({"SET", "{sluice}:succeeded:default", "no line"});
  const auto kept = w.enqueue("succeeds");
  for (int i = 0; i < 5; ++i)
    REQUIRE(w.becomes(w.enqueue("fails"), job_state::failed));
  CHECK(w.get(kept).state == job_state::processing);
  redis.command({"DEL", "{sluice}:succeeded:default"});
  REQUIRE(w.becomes(kept, job_state::succeeded));
  CHECK(w.get(kept).result == "done");
  CHECK(w.get(kept).attempt == 1);
}

TEST_CASE("filters wrap the run and may replace its outcome and learn what was stored") {
  struct recorder : filter {
    std::mutex mutex;
    std::string seen;
    void add(const std::string& word) {
      std::lock_guard hold(mutex);
      seen += word + " ";
    }
    outcome around(job_context& c, const std::function<outcome(job_context&)>& next) override {
      add("before");
      auto result = next(c);
      add("after");
      return result;
    }
    void elect(election& e) override {
      add("elect");
      if (e.chosen.what == run_end::failed) e.chosen = outcome::succeeded("forgiven");
    }
    void applied(const job&, const outcome& stored) override { add("applied:" + stored.text); }
  };
  server_world w;
  auto filter = std::make_shared<recorder>();
  w.filters.push_back({filter, 0, job_type("bad")});
  w.handlers.handle("bad", [](job_context&) { throw std::runtime_error("no"); });
  w.start();
  const auto id = w.enqueue("bad");
  REQUIRE(w.becomes(id, job_state::succeeded));
  CHECK(w.get(id).result == "forgiven");
  w.server->stop();
  CHECK(filter->seen == "before after elect applied:forgiven ");
}

TEST_CASE("a filter around a run is told how it ended, whatever the handler threw") {
  struct listener : filter {
    std::mutex mutex;
    std::vector<std::string> told;
    outcome around(job_context& c, const std::function<outcome(job_context&)>& next) override {
      auto how = next(c);
      const std::lock_guard hold(mutex);
      told.push_back(cat(name_of(how.what), " ", how.text));
      return how;
    }
  };
  server_world w;
  w.options.retry.attempts = 0;
  const auto heard = std::make_shared<listener>();
  w.filters.push_back({heard});
  w.filters.push_back({std::make_shared<watch_filter>()});
  w.handlers.handle("throws", [](job_context&) { throw std::runtime_error("no"); });
  w.handlers.handle("ends", [](job_context& c) { c.end_as(outcome::do_not_retry("enough")); });
  w.handlers.handle("sets", [](job_context& c) { c.set_result("42"); });
  w.start();
  REQUIRE(w.becomes(w.enqueue("throws"), job_state::failed));
  REQUIRE(w.becomes(w.enqueue("ends"), job_state::failed));
  REQUIRE(w.becomes(w.enqueue("sets"), job_state::succeeded));
  w.server->stop();
  CHECK(heard->told == std::vector<std::string>{"failed no", "failed enough", "succeeded 42"});
}

TEST_CASE("a server of a program says of its options what is for `sluice work`") {
  const log_lines told;
  server_world w;
  w.options.allow_exec = true;
  w.options.dashboard.emplace();
  w.start();
  w.server->stop();
  CHECK(told.has("allow_exec has no effect: this server has no handler of exec"));
  CHECK(told.has("the options have a dashboard: it is the program that starts it, by dashboard::start"));
}

TEST_CASE("a queue named *-queue has one worker under a pattern, too") {
  const log_lines told;
  server_world w;
  w.options.queues = {{"tenant-*", {}}};
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  REQUIRE(w.becomes(w.enqueue("noop", "{}", "tenant-a-queue"), job_state::succeeded));
  REQUIRE(w.becomes(w.enqueue("noop", "{}", "tenant-b"), job_state::succeeded));
  w.server->stop();
  const auto all = default_workers("tenant-b", 1);
  CHECK(told.has("queue tenant-a-queue matches a pattern: it gets a pool of 1 workers"));
  CHECK(told.has(cat("queue tenant-b matches a pattern: it gets a pool of ", all, " workers")));
}

TEST_CASE("queues of a pattern share the threads of their server and none of them starves") {
  std::atomic<int> running{0}, most{0}, ran{0};
  std::atomic<bool> over{false};
  server_world w;
  w.options.queues = {{"busy", {4, 256, {}, {}}}, {"tenant-*", {2, 256, {}, {}}}};
  w.options.threads = 4;
  w.handlers.handle("work", [&](job_context&) {
    const int now = ++running;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now))
      continue;
    std::this_thread::sleep_for(1ms);  // the work
    --running;
    ++ran;
  });
  w.handlers.handle("endless", [&](job_context&) { over.wait(false); });
  w.handlers.handle("again", [&](job_context& c) {
    std::this_thread::sleep_for(1ms);  // the work
    if (!over) c.retry_in(0s, "more");
  });
  w.start();
  for (int i = 0; i < 2; ++i)
    REQUIRE(w.becomes(w.enqueue("endless", "{}", "busy"), job_state::processing));
  for (int i = 0; i < 20; ++i)
    w.enqueue("again", "{}", "tenant-0");  // never without work of its own
  std::vector<new_job> jobs;
  for (int i = 0; i < 100; ++i)
    jobs.push_back({.type = job_type("work"), .queue = queue_name(cat("tenant-", i))});
  for (const auto& each : w.client->enqueue(jobs))
    REQUIRE(each.ok());
  CHECK(eventually([&] { return ran == 100; }, 60s));
  CHECK(most <= 2);  // beside the two that never end
  over = true;
  over.notify_all();
  w.server->stop();
}

TEST_CASE("a queue that works ahead of its workers gives way to one that waits for a thread") {
  std::atomic<int> many{0}, before{0};
  redis_server redis;
  server_world w(redis.url());
  w.options.queues = {{"many", {2, 256, {}, {}}}, {"one", {1, 256, {}, {}}}};
  w.options.threads = 2;
  w.handlers.handle("short", [&](job_context&) {
    std::this_thread::sleep_for(500us);  // the work
    ++many;
  });
  w.handlers.handle("other", [&](job_context&) { before = many.load(); });
  constexpr int all = 40'000;
  std::vector<new_job> jobs(1'000, new_job{.type = job_type("short"), .queue = queue_name("many")});
  for (int i = 0; i < all / 1'000; ++i)
    for (const auto& each : w.client->enqueue(jobs))
      REQUIRE(each.ok());
  w.start();
  REQUIRE(eventually([&] { return many > 500; }));
  w.enqueue("other", "{}", "one");
  REQUIRE(eventually([&] { return before > 0; }, 60s));
  CHECK(before < all / 2);
  w.server->stop();
}

TEST_CASE("handlers that do not heed their timeout take no thread from others for good") {
  std::atomic<bool> over{false};
  std::atomic<int> left{0};
  server_world w;
  w.options.queues = {{"default", {2, 256, {}, {}}}};
  w.options.threads = 2;
  w.options.retry.attempts = 0;
  w.options.grace = 0s;
  w.handlers.handle("deaf", [&](job_context&) {
    over.wait(false);
    ++left;
  });
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  for (int i = 0; i < 3; ++i) {
    new_job deaf{.type = job_type("deaf")};
    deaf.timeout = 10ms;
    REQUIRE(w.becomes(w.client->enqueue(deaf).value(), job_state::failed));
  }
  CHECK(w.becomes(w.enqueue("noop"), job_state::succeeded));
  over = true;
  over.notify_all();
  REQUIRE(eventually([&] { return left == 3; }));
  w.server->stop();
}

TEST_CASE("a server does not start without the code of a custom throttler that its types name") {
  server_world w;
  w.options.jobs["call"].throttle = {"custom:breaker"};
  w.options.jobs["others"].throttle = {"custom:elsewhere"};  // of a type that another server runs
  w.handlers.handle("call", [](job_context&) {});
  const auto refused = server(w.options, w.handlers).start();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message ==
        "jobs.call.throttle names custom:breaker, and this server was given no code for it: add it with "
        "handlers.limit(\"breaker\", …), or with throttle_by_actor");
}

TEST_CASE("a handler that is added while its server runs is warned of, and counts from the next start on") {
  const log_lines heard;
  server_world w;
  w.start();
  w.server->handle("late", [](job_context&) {});
  CHECK(heard.has("the handler of late came after its server's start"));
  const auto id = w.enqueue("late");
  w.server->stop();
  REQUIRE(w.server->start());
  CHECK(w.becomes(id, job_state::succeeded));
}

TEST_CASE("a server tells the store whether it has filters") {
  const bool has_some = GENERATE(false, true);
  server_world w;
  if (has_some) w.filters.push_back({std::make_shared<watch_filter>()});
  w.start();
  CHECK(w.client->servers()->at(0).has_filters == has_some);
}

TEST_CASE("a server tells which throttlers let in its types") {
  server_world w;
  w.options.jobs["mail"].throttle = {"mutex:User:{address.id}", "fixed_window:hourly"};
  w.options.jobs["report"].without_overlap = "";
  w.options.throttlers = {{.kind = throttler_kind::fixed_window, .name = "hourly", .limit = 5, .interval = 1h}};
  w.start();
  const auto told = w.client->servers()->at(0).throttled;
  REQUIRE(told.size() == 2);
  CHECK(told[0].type == job_type("mail"));
  CHECK(told[0].throttlers == std::vector<std::string>{"mutex:user:{address.id}", "fixed_window:hourly"});
  CHECK(told[1].type == job_type("report"));
  CHECK(told[1].throttlers == std::vector<std::string>{"mutex:overlap:report"});
}

TEST_CASE("a server tells the types that it has handlers of, and whether these are all") {
  const int count = GENERATE(0, 200, 201);
  server_world w;
  for (int i = 0; i < count; ++i)
    w.handlers.handle("t" + std::to_string(1'000 + i), [](job_context&) {});
  w.start();
  const auto told = [&] { return w.client->servers()->at(0); };
  REQUIRE(eventually([&] { return !told().queues.empty(); }));  // what it says first tells neither
  CHECK(told().types.size() == static_cast<std::size_t>(std::min(count, 200)));
  CHECK(told().all_types == (count <= 200));
  if (count > 0) CHECK(told().types.back() == job_type("t1199"));
}

TEST_CASE("a start tells where the store and its configuration differ, and which of the two counts") {
  const log_lines told;
  server_world w;
  const auto starts_with = [&](std::uint64_t limit) {
    w.options.throttlers = {{.kind = throttler_kind::semaphore, .name = "api", .limit = limit}};
    server one(w.options, w.handlers);
    REQUIRE(one.start().ok());
    one.stop();
    return w.client->throttler(throttler_kind::semaphore, "api")->limit;
  };
  const std::string differs = "throttler semaphore:api in the store → in the configuration: ";
  CHECK(starts_with(4) == 4);
  CHECK(starts_with(4) == 4);
  CHECK_FALSE(told.has(differs));
  REQUIRE(w.client->set_throttler({.kind = throttler_kind::semaphore, .name = "api", .limit = 16}).ok());
  CHECK(starts_with(4) == 16);
  CHECK(told.has(differs +
                 "limit 16 → 4; the store's value holds, since somebody set it, until the configuration changes"));
  CHECK(starts_with(6) == 6);
  CHECK(told.has(differs + "limit 16 → 6; the configuration's value holds from now on, for all servers"));
  CHECK(starts_with(4) == 4);  // another server, which says otherwise
  CHECK(told.has(differs + "limit 6 → 4; the configuration's value holds from now on, for all servers"));
}

TEST_CASE("a delayed job runs when it is due and not before") {
  server_world w;
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  const auto id = w.enqueue("noop", "{}", "default", 300ms);
  REQUIRE(w.becomes(id, job_state::succeeded));
  const auto j = w.get(id);
  const auto waited = j.history.front().started - j.created_at;
  CHECK(waited >= 299ms);
  CHECK(waited < 4s);  // the sweep alone would need five
}

TEST_CASE("a server whose configuration the store refuses is known to nobody", "[redis]") {
  redis_server redis;
  server_world w(redis.url());
  w.enqueue("work");
  redis.command({"SET", "{sluice}:definitions", "no hash"});
  throttler one;
  one.kind = throttler_kind::semaphore;
  one.name = "api";
  one.limit = 1;
  w.options.throttlers = {one};
  sluice::server refused(w.options, w.handlers, w.filters);
  CHECK(refused.start().error().code == errc::storage_damaged);
  CHECK(w.client->servers()->empty());
}

}  // namespace sluice::test
