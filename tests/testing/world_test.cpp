// The world that users test their jobs in.
#include <sluice/json.hpp>
#include <sluice/testing.hpp>

#include <thread>

#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using testing::world;

namespace {

struct page {
  int number = 0;
  bool operator==(const page&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(page, number)

new_job job_of(std::string type, std::string id = {}, std::string queue = {}) {
  new_job job;
  job.type = job_type(std::move(type));
  job.id = job_id(std::move(id));
  job.queue = queue_name(std::move(queue));
  return job;
}

void put(world& w, new_job job) {
  const auto id = w.client().enqueue(std::move(job));
  INFO((id ? "" : to_string(id.error())));
  REQUIRE(id.ok());
}

// Runs that fail are tried again `retries` times, a minute after each.
server_options patient(std::uint32_t retries) {
  server_options options;
  options.retry.attempts = retries;
  options.retry.delay = 1min;
  return options;
}

// What the handlers below were called with, in order.
using log_of_ids = std::vector<std::string>;
auto noting(log_of_ids& ran) {
  return [&ran](job_context& c) { ran.push_back(c.id().value); };
}

// What a call says that the test got wrong.
template <class F>
std::string complaint(F&& call) {
  try {
    call();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "none";
}

std::vector<job_id> ids(const std::vector<job>& jobs) {
  std::vector<job_id> all;
  for (const auto& j : jobs)
    all.push_back(j.id);
  return all;
}

}  // namespace

TEST_CASE("Nothing runs before it is asked for", "[testing]") {
  world w;
  log_of_ids ran;
  w.handle("work", noting(ran));
  put(w, job_of("work", "a"));
  CHECK(w.only("work").state == job_state::enqueued);
  CHECK(ran.empty());
  w.drain();
  CHECK(w.only("work").state == job_state::succeeded);
  CHECK(ran == log_of_ids{"a"});
}

TEST_CASE("A job that a handler enqueues runs in the same drain, in whatever queue", "[testing]") {
  world w;
  log_of_ids ran;
  w.handle("first", [&](job_context&) { put(w, job_of("second", "b", "other")); });
  w.handle("second", [&](job_context&) { put(w, job_of("third", "c", "default")); });
  w.handle("third", noting(ran));
  put(w, job_of("first", "a"));
  const auto done = w.drain();
  CHECK(ran == log_of_ids{"c"});
  CHECK(done.runs == 3);
  CHECK(done.succeeded == 3);
  CHECK(done.left.empty());
}

TEST_CASE("The thread of the test is the thread of the handlers", "[testing]") {
  world w;
  std::thread::id where;
  w.handle("work", [&](job_context&) { where = std::this_thread::get_id(); });
  w.run(job_of("work"));
  CHECK((where == std::this_thread::get_id()));
}

TEST_CASE("A failed run is scheduled by its policy, and runs once the clock is there", "[testing]") {
  world w(patient(5));
  int runs = 0;
  w.handle("flaky", [&](job_context&) {
    if (++runs == 1) throw std::runtime_error("not today");
  });
  put(w, job_of("flaky"));
  const auto first = w.drain();
  CHECK(first.retried == 1);
  CHECK(first.failed == 0);
  auto seen = w.only("flaky");
  CHECK(seen.state == job_state::scheduled);
  CHECK(seen.due_at == w.now() + 1min);
  CHECK(seen.reason == "retry 1 in 1m: not today");
  CHECK(w.next_due() == duration(1min));

  w.advance(1min - 1us);
  CHECK(w.drain().runs == 0);
  CHECK(w.next_due() == duration(1us));
  w.advance(1us);
  CHECK(w.only("flaky").state == job_state::enqueued);
  CHECK(runs == 1);
  CHECK(w.drain().succeeded == 1);
  CHECK(w.only("flaky").attempt == 2);
  CHECK_FALSE(w.next_due());
}

TEST_CASE("The policies of job, type and queue count, the narrowest first", "[testing]") {
  server_options options = patient(5);
  options.queues["slow"].retry.delay = 2h;
  options.jobs["typed"].retry.delay = 3h;
  world w(options);
  for (const auto* type : {"plain", "typed"})
    w.handle(type, [](job_context&) { return outcome::failed("no"); });
  const auto delay = [&](const char* type, const char* queue, std::optional<duration> own = {}) {
    auto job = job_of(type, {}, queue);
    job.retry.delay = own;
    return w.run(job).due_at.value() - w.now();
  };
  CHECK(delay("plain", "default") == 1min);
  CHECK(delay("plain", "slow") == 2h);
  CHECK(delay("typed", "slow") == 3h);
  CHECK(delay("typed", "slow", 4h) == 4h);
}

TEST_CASE("Retries that roll dice are reached without knowing when", "[testing]") {
  world w;  // polynomial
  w.handle("hopeless", [](job_context&) { return outcome::failed("never"); });
  put(w, job_of("hopeless"));
  testing::drained last;
  do {
    last = w.drain();
  } while (w.advance_to_next());
  CHECK(last.failed == 1);
  const auto seen = w.only("hopeless");
  CHECK(seen.state == job_state::failed);
  CHECK(seen.attempt == 11);
  CHECK(seen.reason == "failed 11 times: never");
}

TEST_CASE("A handler that asks for later runs later, and has not failed", "[testing]") {
  world w(patient(0));
  w.handle("snoozing", [](job_context& c) {
    if (c.attempt() == 1) c.retry_in(90s, "too early");
  });
  const auto seen = w.run(job_of("snoozing"));
  CHECK(seen.state == job_state::scheduled);
  CHECK(seen.reason == "again in 90s: too early");
  CHECK(w.advance_to_next());
  CHECK(w.now() == seen.due_at.value());
  CHECK(w.drain().succeeded == 1);
}

TEST_CASE("A job whose retries are used up has failed", "[testing]") {
  world w(patient(1));
  w.handle("work", [](job_context&) { return outcome::failed("no"); });
  put(w, job_of("work"));
  CHECK(w.drain().retried == 1);
  w.advance(1min);
  CHECK(w.drain().failed == 1);
  const auto seen = w.only("work");
  CHECK(seen.state == job_state::failed);
  CHECK(seen.history.size() == 2);
  CHECK_FALSE(w.advance_to_next());
}

TEST_CASE("A job that says do_not_retry has failed at once, or is deleted if its policy says so", "[testing]") {
  world w;
  w.handle("work", [](job_context&) { return outcome::do_not_retry("bad words"); });
  CHECK(w.run(job_of("work")).state == job_state::failed);
  auto removed = job_of("work");
  removed.retry.then = when_exhausted::remove;
  put(w, removed);
  CHECK(w.drain().deleted == 1);
}

TEST_CASE("What a handler throws is its job's failed run, and stays inside", "[testing]") {
  world w(patient(0));
  w.handle("any", [](job_context&) { throw 42; });
  w.handle<page>("args", [](const page&) {});
  put(w, job_of("any"));
  put(w, job_of("args"));
  CHECK(w.drain().failed == 2);
  CHECK(w.only("any").reason == "failed: the handler threw something that is no std::exception");
  CHECK(w.only("args").reason.starts_with("failed: the args do not fit the handler: "));
}

TEST_CASE("Args that do not fit are not tried again, unless a filter says so", "[testing]") {
  struct retried final : filter {
    void elect(election& e) override {
      if (e.chosen.what == run_end::given_up) e.chosen.what = run_end::failed;
    }
  };
  world w(patient(3));
  w.handle<page>("args", [](const page&) {});
  CHECK(w.run(job_of("args")).state == job_state::failed);
  world patient_one(patient(3), {}, {{std::make_shared<retried>(), 1}});
  patient_one.handle<page>("args", [](const page&) {});
  CHECK(patient_one.run(job_of("args")).state == job_state::scheduled);
}

TEST_CASE("A job that is given back goes first", "[testing]") {
  world w;
  log_of_ids ran;
  w.handle("work", [&](job_context& c) {
    ran.push_back(c.id().value);
    return ran.size() == 1 ? outcome::give_back("busy") : outcome::succeeded();
  });
  put(w, job_of("work", "a"));
  put(w, job_of("work", "b"));
  const auto done = w.drain();
  CHECK(ran == log_of_ids{"a", "a", "b"});
  CHECK(done.given_back == 1);
  CHECK(done.succeeded == 2);
}

TEST_CASE("A job of a type without a handler is not run and stays visible", "[testing]") {
  world w;
  put(w, job_of("unknown", "a"));
  const auto done = w.drain();
  CHECK(done.runs == 0);
  REQUIRE(ids(done.left) == std::vector{job_id("a")});
  CHECK(done.left[0].line == "type:unknown");
  w.handle("unknown", [](job_context&) {});
  CHECK(w.drain().succeeded == 1);
}

TEST_CASE("A paused queue is not drained, until it is resumed", "[testing]") {
  world w;
  w.handle("work", [](job_context&) {});
  REQUIRE(w.client().pause(queue_name("default")));
  put(w, job_of("work", "a"));
  put(w, job_of("work", "b", "other"));
  const auto done = w.drain();
  CHECK(done.succeeded == 1);
  CHECK(ids(done.left) == std::vector{job_id("a")});
  CHECK(complaint([&] { w.run(job_of("work", "c")); }) == "job c cannot start: queue default is paused");
  REQUIRE(w.client().resume(queue_name("default")));
  CHECK(w.drain().succeeded == 2);  // a and c
}

TEST_CASE("Only the queues that the options name are drained", "[testing]") {
  server_options options;
  options.queues = {{"mail-*", {}}};
  world w(options);
  w.handle("work", [](job_context&) {});
  put(w, job_of("work", "a", "mail-eu"));
  put(w, job_of("work", "b"));
  const auto done = w.drain();
  CHECK(done.succeeded == 1);
  CHECK(ids(done.left) == std::vector{job_id("b")});
  const std::string unserved = "queue 'default' is not among the options' queues";
  CHECK(complaint([&] { w.drain(queue_name("default")); }) == unserved);
  CHECK(complaint([&] { w.run_next(); }) == unserved);
  CHECK(complaint([&] { w.lose_next(); }) == unserved);
  CHECK(complaint([&] { w.run(job_of("work")); }) == unserved);
}

TEST_CASE("One queue can be drained alone", "[testing]") {
  world w;
  w.handle("work", [](job_context&) {});
  put(w, job_of("work", "a", "one"));
  put(w, job_of("work", "b", "other"));
  const auto done = w.drain(queue_name("one"));
  CHECK(done.runs == 1);
  CHECK(done.left.empty());
  CHECK(ids(w.jobs({.state = job_state::enqueued})) == std::vector{job_id("b")});
}

TEST_CASE("Jobs can be run one by one", "[testing]") {
  world w;
  w.handle("work", [](job_context&) {});
  put(w, job_of("work", "a"));
  put(w, job_of("work", "b"));
  const auto first = w.run_next();
  REQUIRE(first);
  CHECK(first->id == job_id("a"));
  CHECK(first->state == job_state::succeeded);
  CHECK(ids(w.jobs({.state = job_state::enqueued})) == std::vector{job_id("b")});
  CHECK(w.run_next());
  CHECK_FALSE(w.run_next());
}

TEST_CASE("run() runs its job and no other, and the others keep their order", "[testing]") {
  world w;
  log_of_ids ran;
  w.handle("work", noting(ran));
  for (const auto* id : {"a", "b"})
    put(w, job_of("work", id));
  CHECK(w.run(job_of("work", "x")).state == job_state::succeeded);
  CHECK(ran == log_of_ids{"x"});
  put(w, job_of("work", "c"));
  w.drain();
  CHECK(ran == log_of_ids{"x", "a", "b", "c"});
  CHECK(w.client().get(job_id("a"))->attempt == 1);
}

TEST_CASE("run() says why a job cannot start", "[testing]") {
  world w;
  w.handle("work", [](job_context&) {});
  const auto why = [&](const new_job& job) { return complaint([&] { w.run(job); }); };
  CHECK(why(job_of("unknown", "u")) == "job u cannot start: there is no handler for type unknown");
  CHECK(why(job_of("not a name")).starts_with("run: invalid_argument: job type 'not a name'"));
  auto later = job_of("work", "l");
  later.delay = 1s;
  CHECK(why(later) == "job l cannot start: it is scheduled");
  CHECK(why(job_of("work", "a")) == "none");
  CHECK(why(job_of("work", "a")) == "job a cannot start: it is succeeded");
}

TEST_CASE("A delayed job waits for the clock", "[testing]") {
  world w;
  w.handle("work", [](job_context&) {});
  auto later = job_of("work");
  later.delay = 24h;
  put(w, later);
  CHECK(w.drain().runs == 0);
  const auto before = w.now();
  CHECK(w.advance_to_next());
  CHECK(w.now() - before == 24h);
  CHECK(w.drain().succeeded == 1);
  CHECK(complaint([&] { w.advance(-1s); }).starts_with("the clock goes forward only"));
}

TEST_CASE("More jobs than one promotion takes become ready together", "[testing]") {
  world w;
  w.handle("work", [](job_context&) {});
  auto later = job_of("work");
  later.delay = 1s;
  for (const auto& stored : w.client().enqueue(std::vector(1'001, later)))
    REQUIRE(stored);
  w.advance(1s);
  CHECK(w.jobs({.state = job_state::enqueued}).size() == 1'001);
}

TEST_CASE("A window lets in as many as it says, and the others when the clock is there", "[testing]") {
  server_options options;
  throttler window;
  window.kind = throttler_kind::fixed_window;
  window.name = "mails";
  window.limit = 2;
  window.interval = 1h;
  options.throttlers = {window};
  options.jobs["mail"].throttle = {"fixed_window:mails"};
  world w(options);
  log_of_ids ran;
  w.handle("mail", noting(ran));
  for (const auto* id : {"a", "b", "c", "d", "e"})
    put(w, job_of("mail", id));
  CHECK(w.drain().runs == 2);
  CHECK(w.client().get(job_id("c"))->state == job_state::throttled);
  CHECK(w.drain().runs == 0);
  w.advance(1h);
  CHECK(w.drain().runs == 2);
  REQUIRE(w.advance_to_next());
  CHECK(w.drain().runs == 1);
  CHECK(ran == log_of_ids{"a", "b", "c", "d", "e"});
}

TEST_CASE("Who lacks a permit waits for it, and run() says for what", "[testing]") {
  server_options options;
  options.jobs["pay"].throttle = {"mutex:order:{order}"};
  options.jobs["pay"].strict = true;
  options.jobs["pay"].retry.attempts = 1;
  options.jobs["pay"].retry.delay = 1min;
  world w(options);
  bool fails = true;
  w.handle("pay", [&](job_context&) {
    if (std::exchange(fails, false)) throw std::runtime_error("no answer");
  });
  auto first = job_of("pay", "first"), same = job_of("pay", "same"), other = job_of("pay", "other");
  first.args = same.args = R"({"order":1})";
  other.args = R"({"order":2})";
  CHECK(w.run(first).state == job_state::scheduled);  // it keeps its mutex until it is over
  CHECK(complaint([&] { w.run(same); }) ==
        "job same cannot start: it waits for mutex:order:1, held by first; it is next");
  CHECK(w.run(other).state == job_state::succeeded);
  w.advance(1min);
  CHECK(w.drain().succeeded == 2);
}

TEST_CASE("A job whose args do not fit the name of its mutex has failed, as on a server", "[testing]") {
  auto options = patient(3);
  options.jobs["pay"].throttle = {"mutex:order:{order}"};
  world w(options);
  w.handle("pay", [](job_context&) {});
  put(w, job_of("pay", "p"));
  const auto done = w.drain();
  CHECK(done.failed == 1);
  CHECK(done.runs == 0);
  CHECK(w.client().get(job_id("p"))->reason.find("order") != std::string::npos);
}

TEST_CASE("A throttler that is defined nowhere is an error of the world, as of a server's start", "[testing]") {
  server_options options;
  options.jobs["mail"].throttle = {"semaphore:nope"};
  CHECK(complaint([&] {
          world w(options);
        }).starts_with("throttler semaphore:nope, which jobs.mail names, is not defined"));
  throttler without_limit;
  without_limit.kind = throttler_kind::semaphore;
  without_limit.name = "nope";
  options.throttlers = {without_limit};
  CHECK(complaint([&] { world w(options); }).find("limit must be") != std::string::npos);
}

TEST_CASE("All that a window has room for are woken at its instant, however many wait", "[testing]") {
  server_options options;
  throttler window;
  window.kind = throttler_kind::fixed_window;
  window.name = "mails";
  window.limit = 1'100;
  window.interval = 1h;
  options.throttlers = {window};
  options.jobs["mail"].throttle = {"fixed_window:mails"};
  world w(options);
  w.handle("mail", [](job_context&) {});
  for (const auto& stored : w.client().enqueue(std::vector(2'300, job_of("mail"))))
    REQUIRE(stored);
  CHECK(w.drain().runs == 1'100);
  w.advance(1h);
  CHECK(w.jobs({.state = job_state::enqueued}).size() == 1'100);
}

TEST_CASE("A limiter of the user's decides in a world too, and a name without one is an error", "[testing]") {
  struct one_an_hour final : limiter {
    limiter_step take(std::string_view state, time_point now, std::span<const limiter_request> wanted) const override {
      const auto hour = std::chrono::floor<std::chrono::hours>(now);
      const auto text = std::to_string(hour.time_since_epoch().count());
      limiter_step step{text, hour, hour + 1h, {}};
      bool is_free = state != text;
      for (const auto& w : wanted)
        step.each.push_back({std::exchange(is_free, is_free && w.count == 0) && w.count > 0 ? 1u : 0u, {}});
      return step;
    }
  };
  server_options options;
  options.jobs["mail"].throttle = {"custom:hourly"};
  world w(options);
  w.handle("mail", [](job_context&) {});
  put(w, job_of("mail"));
  CHECK(complaint([&] { w.drain(); }).starts_with("type mail names throttler custom:hourly, for which nothing stands"));
  CHECK(w.jobs()[0].state == job_state::enqueued);  // it was given back
  handler_registry limits;
  limits.limit("hourly", std::make_shared<one_an_hour>());
  world with(options, limits);
  with.handle("mail", [](job_context&) {});
  put(with, job_of("mail"));
  put(with, job_of("mail"));
  CHECK(with.drain().runs == 1);
  with.advance(1h);
  CHECK(with.drain().runs == 1);
}

TEST_CASE("Schedules make their jobs when the clock is there, each at its instant", "[testing]") {
  server_options options;
  recurring minutely;
  minutely.name = "tick";
  minutely.job = job_type("tick");
  minutely.every = 1min;
  minutely.stagger = stagger_rule::off;
  options.recurring = {minutely};
  world w(options);
  std::vector<time_point> due;
  w.handle("tick", [&](job_context&) {});
  CHECK(w.drain().runs == 0);
  w.advance(10min);
  CHECK(w.drain().succeeded == 10);
  auto hourly = minutely;
  hourly.name = "hourly";
  hourly.every = 1h;
  REQUIRE(w.client().set_recurring(hourly));
  REQUIRE(w.client().remove_recurring("tick"));
  w.advance(2h);
  CHECK(w.drain().succeeded == 2);
}

TEST_CASE("The jobs of a schedule have its headers, for filters that want them", "[testing]") {
  struct wants_tenant final : filter {
    result<void> on_enqueue(new_job& job) override {
      if (job.headers.contains("tenant")) return {};
      return error{errc::refused, "no tenant"};
    }
  };
  server_options options;
  recurring hourly;
  hourly.name = "hourly";
  hourly.job = job_type("tick");
  hourly.every = 1h;
  hourly.headers = {{"tenant", "acme"}};
  options.recurring = {hourly};
  world w(options, {}, {{std::make_shared<wants_tenant>(), 1}});
  std::string tenant;
  w.handle("tick", [&](job_context& c) { tenant = c.headers().at("tenant"); });
  w.advance(1h);
  CHECK(w.drain().succeeded == 1);
  CHECK(tenant == "acme");
}

TEST_CASE("A run lasts as long as its handler moves the clock", "[testing]") {
  world w;
  w.handle("work", [&](job_context&) { w.advance(3s); });
  const auto seen = w.run(job_of("work"));
  REQUIRE(seen.history.size() == 1);
  CHECK(seen.history[0].ended - seen.history[0].started == 3s);
  CHECK(seen.finished_at == w.now());
}

TEST_CASE("Filters take part, from the enqueue to the end", "[testing]") {
  struct watcher final : filter {
    std::vector<std::string> saw;
    result<void> on_enqueue(new_job& job) override {
      if (job.args == "[]") return error{errc::refused, "a list is no order"};
      job.headers["by"] = "watcher";
      return {};
    }
    outcome around(job_context& c, const std::function<outcome(job_context&)>& next) override {
      saw.push_back("around " + c.headers().at("by"));
      return next(c);
    }
    void elect(election& e) override { e.chosen = outcome::succeeded("elected"); }
    void applied(const job&, const outcome& stored) override { saw.push_back("applied " + stored.text); }
  };
  const auto f = std::make_shared<watcher>();
  world w(server_options{}, {}, {{f, 10, {}}});
  w.handle("work", [](job_context&) { return outcome::failed("no"); });
  CHECK(w.run(job_of("work")).result == "elected");
  CHECK(f->saw == std::vector<std::string>{"around watcher", "applied elected"});
  auto refused = job_of("work");
  refused.args = "[]";
  CHECK(complaint([&] { w.run(refused); }) == "run: refused: a list is no order");
  CHECK(w.jobs().size() == 1);
}

TEST_CASE("Another client on the world's URL sees the same jobs, by the same clock", "[testing]") {
  world w;
  w.handle("work", [](job_context&) {});
  auto other = client::open({.storage = w.storage()});
  REQUIRE(other);
  auto later = job_of("work", "a");
  later.delay = 1h;
  REQUIRE(other->enqueue(later));
  CHECK(w.next_due() == duration(1h));
  w.advance(1h);
  w.drain();
  CHECK(other->get(job_id("a"))->state == job_state::succeeded);
}

TEST_CASE("A client may outlive its world", "[testing]") {
  std::optional<client> other;
  {
    world w;
    auto opened = client::open({.storage = w.storage()});
    REQUIRE(opened);
    other = std::move(*opened);
    put(w, job_of("work", "a"));
  }
  CHECK(other->get(job_id("a")).ok());
  CHECK(other->enqueue(job_of("work", "b")).ok());
}

TEST_CASE("Two worlds are apart, and so are their clocks", "[testing]") {
  world one, other;
  put(one, job_of("work", "a"));
  CHECK(other.jobs().empty());
  CHECK(one.storage() != other.storage());
  const auto before = other.now();
  one.advance(1h);
  CHECK(other.now() == before);
}

TEST_CASE("An endless flow is an error that names its type", "[testing]") {
  world w;
  w.handle("once", [&](job_context&) { put(w, job_of("forever")); });
  w.handle("forever", [&](job_context&) { put(w, job_of("forever")); });
  put(w, job_of("once"));
  CHECK(complaint([&] { w.drain(20); }) ==
        "the drain has made more than 20 starts, 20 of them of type forever: does it make work without end?");
  CHECK(w.jobs({.state = job_state::processing}).empty());
}

TEST_CASE("As many starts as the limit are no error", "[testing]") {
  world w;
  w.handle("work", [](job_context&) {});
  for (int i = 0; i < 5; ++i)
    put(w, job_of("work"));
  CHECK(w.drain(5).runs == 5);
}

TEST_CASE("Progress and typed results can be read", "[testing]") {
  world w;
  std::optional<progress_report> meanwhile;
  w.handle<page>("read", [&](const page& p, job_context& c) {
    c.progress(0.5, "half of it");
    meanwhile = w.client().get(c.id())->progress;
    c.progress(7, "all of it");
    return page{p.number + 1};
  });
  const auto seen = w.run("read", page{6});
  CHECK(result_of<page>(seen).value() == page{7});
  REQUIRE(meanwhile);
  CHECK(meanwhile->done == 0.5);
  CHECK(meanwhile->text == "half of it");
  REQUIRE(seen.progress);
  CHECK(seen.progress->done == 1.0);
}

TEST_CASE("What was enqueued can be asked by type, as values, oldest first", "[testing]") {
  world w;
  w.handle<page>("read", [](const page&) {});
  REQUIRE(w.client().enqueue("read", page{1}));
  w.drain();
  REQUIRE(w.client().enqueue("read", page{2}));
  put(w, job_of("write", "w", "other"));
  CHECK(w.enqueued<page>("read") == std::vector{page{1}, page{2}});
  CHECK(w.enqueued<page>("nothing").empty());
  CHECK(complaint([&] { w.enqueued<page>("write"); }).starts_with("the args of job w (write) do not fit: "));
  CHECK(w.jobs().size() == 3);
  CHECK(w.jobs({.queue = queue_name("other")}).size() == 1);
  CHECK(w.jobs({.type = job_type("read"), .state = job_state::succeeded}).size() == 1);
  CHECK(complaint([&] { w.only("read"); }) == "there are 2 jobs of type read, not one");
  CHECK(complaint([&] { w.only("nothing"); }) == "there are 0 jobs of type nothing, not one");
}

TEST_CASE("Every job is seen, however many there are", "[testing]") {
  world w;
  for (const auto& stored : w.client().enqueue(std::vector(450, job_of("work"))))
    REQUIRE(stored);
  CHECK(w.jobs().size() == 450);
}

TEST_CASE("The type's configured queue counts for the world's client", "[testing]") {
  server_options options;
  options.jobs["letter"].queue = queue_name("mail");
  world w(options);
  put(w, job_of("letter"));
  CHECK(w.only("letter").queue == queue_name("mail"));
}

TEST_CASE("A run that is lost runs again", "[testing]") {
  world w;
  log_of_ids ran;
  w.handle("work", noting(ran));
  put(w, job_of("work", "a"));
  const auto lost = w.lose_next();
  REQUIRE(lost);
  CHECK(lost->state == job_state::enqueued);
  CHECK(lost->line == "");
  CHECK(lost->losses == 1);
  CHECK(lost->attempt == 0);
  CHECK(w.drain().succeeded == 1);
  CHECK(ran == log_of_ids{"a", "a"});
  CHECK_FALSE(w.lose_next());
}

TEST_CASE("A job that is lost too often has failed", "[testing]") {
  server_options options;
  options.max_losses = 2;
  world w(options);
  w.handle("work", [](job_context&) {});
  put(w, job_of("work"));
  CHECK(w.lose_next()->state == job_state::enqueued);
  const auto seen = w.lose_next();
  CHECK(seen->state == job_state::failed);
  CHECK(seen->history.back().cause == "lost");
}

TEST_CASE("The end of a job that its handler deleted is refused, and counts as a run alone", "[testing]") {
  world w;
  w.handle("work", [&](job_context& c) { (void)w.client().remove(c.id()); });
  put(w, job_of("work"));
  const auto done = w.drain();
  CHECK(done.runs == 1);
  CHECK(done.succeeded == 0);
  CHECK(w.only("work").state == job_state::deleted);
}

TEST_CASE("A handler cannot run the jobs of its own world", "[testing]") {
  world w(patient(0));
  w.handle("work", [&](job_context&) { w.drain(); });
  const auto seen = w.run(job_of("work"));
  CHECK(seen.reason == "failed: a handler cannot run the jobs of the world that runs it");
  put(w, job_of("work"));
  CHECK(w.drain().failed == 1);  // the world is as before
}

TEST_CASE("A registry can be added whole, and may take the place of handlers", "[testing]") {
  world w;
  w.handle("work", [](job_context&) { return std::string("old"); });
  handler_registry all;
  all.handle("work", [](job_context&) { return std::string("new"); });
  w.add(all);
  CHECK(w.run(job_of("work")).result == "new");
}

TEST_CASE("A world takes what a server takes", "[testing]") {
  handler_registry handlers;
  handlers.handle("work", [](job_context&) {});
  world w(patient(0), handlers);
  CHECK(w.run(job_of("work")).state == job_state::succeeded);
}

TEST_CASE("Handlers that are actors are refused", "[testing]") {
  const int someone = 0;  // nobody looks at the route
  handler_registry handlers;
  handlers.add("by_actor", {{}, {}, {std::shared_ptr<void>(), reinterpret_cast<const actor_route*>(&someone)}});
  world w;
  CHECK(complaint([&] { w.add(handlers); }) == "type by_actor is handled by an actor; a world runs functions only");
}

TEST_CASE("a job is stamped by the world's clock") {
  world w;
  w.handle("noop", [](job_context&) {});
  w.advance(48h);
  CHECK(w.run(job_of("noop")).created_at == w.now());
}

TEST_CASE("Options without a queue are refused", "[testing]") {
  server_options options;
  options.queues.clear();
  CHECK(complaint([&] { world w(options); }) == "queues: name at least one");
}

TEST_CASE("An end carries 100 jobs, and with one more its run has failed and stores none", "[testing]") {
  world w(patient(0));
  w.handle("page", [](job_context&) {});
  w.handle("list", [](const page& count) {
    auto end = outcome::succeeded();
    for (int i = 0; i < count.number; ++i)
      end.then(job_of("page"));
    return end;
  });
  CHECK(w.run("list", page{100}).state == job_state::succeeded);
  CHECK(w.jobs({.type = "page"}).size() == 100);
  const auto more = w.run("list", page{101});
  CHECK(more.state == job_state::failed);
  CHECK(more.reason == "failed: an end carries at most 100 jobs, not 101");
  CHECK(w.jobs({.type = "page"}).size() == 100);
}
