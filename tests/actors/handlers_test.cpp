// What a handler may take, say and return.
#include <sluice/json.hpp>

#include <atomic>
#include <cmath>

#include "actors/server_world.hpp"
#include "support/catch.hpp"
#include "support/measure.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

struct sum_of {
  int a = 0, b = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(sum_of, a, b)
struct sum {
  int value = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(sum, value)

void deep_below(const job_context& job) {
  if (job.attempt() == 1) job.retry_in(1ms, "not yet");
}

}  // namespace

TEST_CASE("a handler takes a struct and returns one, and both are JSON in the store") {
  server_world w;
  w.server = std::make_unique<server>(w.options);
  w.server->handle<sum_of>("sum", [](const sum_of& args) { return sum{args.a + args.b}; });
  w.server->handle<sum_of>("with_context", [](const sum_of& args, job_context& job) {
    return std::to_string(args.a) + " in run " + std::to_string(job.attempt());
  });
  REQUIRE(w.server->start().ok());
  const auto id = w.client->enqueue("sum", sum_of{2, 40});
  REQUIRE(id.ok());
  const auto done = w.client->wait(*id, 10s);
  REQUIRE(done.ok());
  CHECK(done->args == R"({"a":2,"b":40})");
  CHECK(done->result == R"({"value":42})");
  CHECK(result_of<sum>(*done)->value == 42);
  CHECK(args_of<sum_of>(*done)->b == 40);
  CHECK(args_of<std::string>(*done).error().code == errc::invalid_argument);
  const auto other = w.client->wait(*w.client->enqueue("with_context", sum_of{5, 0}), 10s);
  REQUIRE(other.ok());
  CHECK(other->result == "5 in run 1");
}

TEST_CASE("a text is the result as it is, whatever kind of text; other values are JSON") {
  server_world w;
  w.handlers.handle("string", [](job_context&) { return std::string("text"); });
  w.handlers.handle("view", [](job_context&) { return std::string_view("text"); });
  w.handlers.handle("literal", [](job_context&) { return "text"; });
  w.handlers.handle("json", [](job_context&) { return nlohmann::json{{"value", 42}}; });
  w.handlers.handle("number", [](job_context&) { return 42; });
  w.handlers.handle("flag", [](job_context&) { return true; });
  w.start();
  for (const auto& [type, result] : {std::pair("string", "text"),
                                     {"view", "text"},
                                     {"literal", "text"},
                                     {"json", R"({"value":42})"},
                                     {"number", "42"},
                                     {"flag", "true"}}) {
    const auto done = w.client->wait(w.enqueue(type), 10s);
    REQUIRE(done.ok());
    CHECK(done->result == result);
  }
}

TEST_CASE("texts that are null, returned or said by an exception, are failed runs") {
  struct silent_exception : std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  server_world w;
  w.options.retry.attempts = 0;
  w.handlers.handle("null", [](job_context&) -> const char* { return nullptr; });
  w.handlers.handle("silent", [](job_context&) { throw silent_exception(); });
  w.start();
  for (const auto* type : {"null", "silent"})
    CHECK(w.client->wait(w.enqueue(type), 10s)->state == job_state::failed);
}

TEST_CASE("a literal may be the args") {
  server_world w;
  w.handlers.handle<std::string>("greet", [](const std::string& name) { return "hello " + name; });
  w.start();
  CHECK(w.client->wait(*w.client->enqueue("greet", "Ada"), 10s)->result == "hello Ada");
  CHECK(w.client->wait(*w.client->enqueue("greet", "Bob"), duration::max())->result == "hello Bob");
}

TEST_CASE("the last progress of a job that has ended is kept") {
  server_world w;
  w.handlers.handle("quick", [](job_context& job) {
    job.progress(0.5, "half");
    job.progress(1, "all done");
  });
  w.start();
  const auto done = w.client->wait(w.enqueue("quick"), 10s);
  REQUIRE(done.ok());
  REQUIRE(done->progress);
  CHECK(done->progress->done == 1);
  CHECK(done->progress->text == "all done");
}

TEST_CASE("what a run has watched stands in its run's record on each store and filters see it") {
  const auto store = GENERATE(as<std::string>{}, "sqlite", "redis");
  static redis_server redis;
  server_world w(store == "redis" ? redis.url() + "&prefix=watch" : std::string());
  struct seen_filter : filter {
    std::atomic<int> parts{0};
    void applied(const job&, const outcome& stored) override { parts += static_cast<int>(stored.watched.size()); }
  };
  const auto seen = std::make_shared<seen_filter>();
  w.filters = {{std::make_shared<watch_filter>(), 1, {}}, {seen, 2, {}}};
  w.options.retry = {1, backoff::fixed, duration(0), {}, {}, {}};
  w.handlers.handle("work", [](job_context& c) {
    c.watch("REDIS", "Save 1:2 x", [] {});
    c.watch("REDIS", "Save 1:2 x", [] {});
    c.watch("HTTP", "GET", [&] {
      if (c.attempt() == 1) throw std::runtime_error("gone");
    });
    return "done";
  });
  w.start();
  const auto id = w.enqueue("work");
  REQUIRE(w.becomes(id, job_state::succeeded));
  const auto j = w.get(id);
  CHECK(j.result == "done");
  REQUIRE(j.history.size() == 2);
  for (const auto& run : j.history) {
    REQUIRE(run.watched.size() == 3);
    CHECK(run.watched[0].system == "REDIS");
    CHECK(run.watched[0].what == "Save 1:2 x");
    CHECK(run.watched[0].times == 2);
    CHECK(run.watched[0].longest <= run.watched[0].total);
    CHECK(run.watched[1].failed == (run.attempt == 1 ? 1 : 0));
    CHECK(run.watched[2].system == "JOB");
    CHECK(run.watched[2].what == "work");
    CHECK(run.watched[2].failed == (run.attempt == 1 ? 1 : 0));
    CHECK(run.watched[2].total >= run.watched[1].total);
  }
  CHECK(j.history[0].cause == "failed");
  CHECK(eventually([&] { return seen->parts == 6; }));
}

TEST_CASE("a handler's own catch of std::exception lets an early end pass") {
  server_world w;
  w.handlers.handle("careful", [](job_context& job) {
    try {
      if (job.attempt() == 1) job.retry_in(1ms, "not yet");
    } catch (const std::exception&) {
      return "swallowed";
    }
    return "second run";
  });
  w.start();
  CHECK(w.client->wait(w.enqueue("careful"), 10s)->result == "second run");
}

TEST_CASE("args that do not fit a handler are a failed run that names what is missing") {
  server_world w;
  w.options.retry.attempts = 0;
  w.handlers.handle<sum_of>("sum", [](const sum_of& args) { return sum{args.a + args.b}; });
  w.start();
  const auto id = w.enqueue("sum", R"({"a": 1})");
  REQUIRE(w.becomes(id, job_state::failed));
  CHECK(w.get(id).reason.find("do not fit") != std::string::npos);
  CHECK(w.get(id).reason.find("'b'") != std::string::npos);
}

TEST_CASE("a run may end early from any depth, and set its result on the way") {
  server_world w;
  w.handlers.handle("later", [](job_context& job) {
    deep_below(job);
    job.set_result("done in run " + std::to_string(job.attempt()));
  });
  w.handlers.handle("given_up", [](job_context& job) { job.end_as(outcome::do_not_retry("there is no such game")); });
  w.start();
  const auto later = w.enqueue("later");
  REQUIRE(w.becomes(later, job_state::succeeded));
  CHECK(w.get(later).result == "done in run 2");
  CHECK(w.get(later).history.at(0).cause == "retry");
  const auto given_up = w.enqueue("given_up");
  REQUIRE(w.becomes(given_up, job_state::failed));
  CHECK(w.get(given_up).attempt == 1);
  CHECK(w.get(given_up).reason.find("no such game") != std::string::npos);
}

TEST_CASE("a run that asks for a later one beyond all bounds is put off by ten years, and in the past it has failed") {
  server_world w;
  w.options.retry.attempts = 0;
  w.handlers.handle("never", [](job_context& job) { job.retry_in(duration::max(), "never"); });
  w.handlers.handle("before", [](job_context&) { return outcome::retry_in(-1h, "an hour ago"); });
  w.start();
  const auto never = w.enqueue("never");
  REQUIRE(w.becomes(never, job_state::scheduled));
  CHECK(w.get(never).due_at > w.get(never).created_at + 24h * 365 * 9);
  const auto before = w.enqueue("before");
  REQUIRE(w.becomes(before, job_state::failed));
  CHECK(w.get(before).history.back().error == "asked to run again in -1h, which must be 0s or more: an hour ago");
}

TEST_CASE("a handler that catches its own early end with catch (...) has ended as it returns, and the log says so") {
  const log_lines told;
  server_world w;
  w.handlers.handle("later", [](job_context& job) {
    try {
      job.retry_in(10min, "later");
    } catch (...) {
    }
  });
  w.handlers.handle("other", [](job_context&) {});
  w.start();
  REQUIRE(w.becomes(w.enqueue("later"), job_state::succeeded));
  CHECK(told.has("its handler asked to end as retry, and caught that with catch (...): it counts as succeeded"));
  REQUIRE(w.becomes(w.enqueue("other"), job_state::succeeded));
  CHECK_FALSE(told.has("(other): its handler asked"));
}

TEST_CASE("a server without handlers says so, and one with a type that no job can have does not start") {
  const log_lines told;
  server_world w;
  CHECK(server(w.options, {}).start().ok());
  CHECK(told.has("this server has no handlers: it takes no jobs"));
  w.handlers.handle("send mail", [](job_context&) {});
  const auto started = server(w.options, w.handlers).start();
  REQUIRE_FALSE(started.ok());
  CHECK(started.error().message.find("a handler has the type 'send mail', which no job can have: it must be 1 to") ==
        0);
}

TEST_CASE("what a running handler says of its progress can be seen while it runs") {
  std::atomic<bool> release{false};
  server_world w;
  w.handlers.handle("pages", [&](job_context& job) {
    for (int page = 1; page <= 10; ++page)
      job.progress(page / 40.0, "page " + std::to_string(page));
    release.wait(false);
  });
  w.start();
  const auto id = w.enqueue("pages");
  CHECK(eventually([&] {
    const auto j = w.get(id);
    return j.state == job_state::processing && j.progress && j.progress->text == "page 10" && j.progress->done == 0.25;
  }));
  release = true;
  release.notify_all();
  CHECK(w.becomes(id, job_state::succeeded));
}

TEST_CASE("progress that is no fraction or too long is cut to what is kept") {
  std::atomic<bool> release{false};
  server_world w;
  w.handlers.handle("strange", [&](job_context& job) {
    job.progress(job.args() == "1" ? 1e9 : std::nan(""), std::string(5'000, 'x'));
    release.wait(false);
  });
  w.start();
  const auto more = w.enqueue("strange", "1");
  const auto none = w.enqueue("strange", "0");
  CHECK(eventually([&] { return w.get(more).progress && w.get(none).progress; }));
  CHECK(w.get(more).progress->done == 1);
  CHECK(w.get(none).progress->done == 0);
  CHECK(w.get(more).progress->text.size() < 1'100);  // 1 KiB, and that it was cut
  release = true;
  release.notify_all();
}

TEST_CASE("waiting for a job ends when it is final, when patience does, or when there is no such job") {
  server_world w;
  const auto id = w.enqueue("nobody_knows");
  const auto waited = w.client->wait(id, 20ms);
  REQUIRE_FALSE(waited.ok());
  CHECK(waited.error().code == errc::timed_out);
  CHECK(waited.error().message.find("enqueued") != std::string::npos);
  REQUIRE(w.client->remove(id).ok());
  CHECK(w.client->wait(id, 10s)->state == job_state::deleted);
  CHECK(w.client->wait(job_id("nobody"), 10s).error().code == errc::not_found);
}

}  // namespace sluice::test
