// Throttlers on a running server, on each store: who runs beside whom, who waits, and that nothing is left behind.
#include <atomic>
#include <latch>
#include <map>
#include <mutex>
#include <random>

#include "actors/host_world.hpp"
#include "actors/server_world.hpp"
#include "storage/shared_store.hpp"
#include "support/catch.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

throttler semaphore(const std::string& name, std::uint64_t limit) {
  throttler t;
  t.kind = throttler_kind::semaphore;
  t.name = name;
  t.limit = limit;
  return t;
}

throttler fixed_window(const std::string& name, std::uint64_t limit, duration interval) {
  throttler t;
  t.kind = throttler_kind::fixed_window;
  t.name = name;
  t.limit = limit;
  t.interval = interval;
  return t;
}

// How many handlers run at once, in all and by key.
class overlap {
public:
  class inside {
  public:
    inside(overlap& of, std::string key) : of_(of), key_(std::move(key)) { of_.change(key_, +1); }
    ~inside() { of_.change(key_, -1); }
    inside(const inside&) = delete;

  private:
    overlap& of_;
    std::string key_;
  };

  int peak() const { return peak_; }
  int peak_of_one_key() const { return key_peak_; }
  int peak_of(const std::string& key) { return peak_by_key_[key]; }
  int runs() const { return runs_; }

private:
  void change(const std::string& key, int by) {
    std::lock_guard hold(mutex_);
    if (by > 0) ++runs_;
    now_ += by;
    auto& of_key = by_key_[key];
    of_key += by;
    peak_ = std::max(peak_, now_);
    key_peak_ = std::max(key_peak_, of_key);
    peak_by_key_[key] = std::max(peak_by_key_[key], of_key);
  }

  std::mutex mutex_;
  std::map<std::string, int> by_key_, peak_by_key_;
  int now_ = 0, peak_ = 0, key_peak_ = 0, runs_ = 0;
};

struct throttle_world : host_world {
  ~throttle_world() { embedded.reset(); }  // before what its handlers note
  overlap handler_runs, types;

  explicit throttle_world(const std::string& store = "sqlite") : host_world(url_of(store)) {
    options.queues = {{"default", {8, 256, {}, {}}}};
  }

  static std::string url_of(const std::string& store) {
    if (store == "sqlite") return {};
    static redis_server shared;
    static int worlds = 0;
    return shared.url() + "&prefix=throttle" + std::to_string(++worlds);
  }

  // A handler of `length`, counted by its args.
  void body(const std::string& type, std::chrono::microseconds length = 2ms) {
    handlers.handle(type, [this, length](job_context& c) {
      overlap::inside now(handler_runs, c.args());
      overlap::inside of_type(types, c.type().value);
      std::this_thread::sleep_for(length);  // the handler's work, not a wait for anybody
    });
  }

  void enqueue_many(const std::string& type, int n, const std::function<std::string(int)>& args = {}) {
    std::vector<new_job> jobs(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      jobs[static_cast<std::size_t>(i)].type = job_type(type);
      if (args) jobs[static_cast<std::size_t>(i)].args = args(i);
    }
    for (const auto& r : client->enqueue(std::move(jobs)))
      if (!r) throw std::runtime_error(to_string(r.error()));
  }

  bool all_end(std::uint64_t n, std::chrono::seconds timeout = 60s) {
    return eventually([&] { return counts().succeeded + counts().failed + counts().deleted == n; }, timeout);
  }

  template <class Answer>
  Answer ask(storage::request r) {
    auto shared_store = storage::open_shared_store(options.storage);
    std::vector<storage::request> asked;
    asked.push_back(std::move(r));
    auto answers = (*shared_store)->call(std::move(asked), std::chrono::steady_clock::now() + 10s);
    if (const auto* failed = std::get_if<error>(&answers.at(0))) throw std::runtime_error(to_string(*failed));
    return std::get<Answer>(std::move(answers[0]));
  }

  // What is held or waited for now.
  std::string left_over() {
    std::string all;
    for (const auto& t : ask<storage::throttlers_answer>(storage::throttlers_request{}).throttlers)
      if (t.held + t.waiting > 0)
        all += t.resource + " " + std::to_string(t.held) + "/" + std::to_string(t.waiting) + "; ";
    return all;
  }

  bool audit_is_clean() {
    auto store = storage::open_store(options.storage);
    const auto found = (*store)->audit();
    if (found)
      for (const auto& f : *found)
        UNSCOPED_INFO(f);
    return found && found->empty();
  }
};

}  // namespace

TEST_CASE("no more jobs run at once than a semaphore allows and all of them run once") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {semaphore("api", 2)};
  w.options.jobs["call"].throttle = {"semaphore:api"};
  w.body("call");
  w.start();
  w.enqueue_many("call", 60);
  REQUIRE(w.all_end(60));
  CHECK(w.handler_runs.peak() == 2);
  CHECK(w.handler_runs.runs() == 60);
  CHECK(w.left_over().empty());
  w.embedded->stop();
  CHECK(w.audit_is_clean());
}

TEST_CASE("jobs of one order exclude each other and those of others do not wait") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.jobs["process"].throttle = {"mutex:order:{order_id}"};
  w.body("process");
  w.start();
  w.enqueue_many("process", 80, [](int i) { return "{\"order_id\":" + std::to_string(i % 4) + "}"; });
  REQUIRE(w.all_end(80));
  CHECK(w.handler_runs.peak_of_one_key() == 1);
  CHECK(w.handler_runs.peak() > 1);
  CHECK(w.handler_runs.runs() == 80);
  CHECK(w.left_over().empty());
}

TEST_CASE("jobs of a type without overlap run one at a time of all servers and hold no worker while they wait") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.jobs["report"].without_overlap = "";
  w.body("report");
  w.body("other", 0ms);
  w.start();
  sluice::server second(w.options, w.handlers);
  REQUIRE(second.start().ok());
  w.enqueue_many("report", 40);
  w.enqueue_many("other", 20);
  REQUIRE(w.all_end(60));
  CHECK(w.handler_runs.runs() == 60);
  CHECK(w.types.peak_of("report") == 1);
  second.stop();
  w.embedded->stop();
  CHECK(w.left_over().empty());
  CHECK(w.audit_is_clean());
}

TEST_CASE("of two servers that want one permit both have their turns and no two jobs run at a time") {
  std::atomic<int> first_runs{0}, second_runs{0};
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.jobs["step"].throttle = {"mutex:one"};
  const auto step = [&w](std::atomic<int>& runs) {
    return [&w, &runs](job_context&) {
      overlap::inside now(w.handler_runs, "");
      ++runs;
      std::this_thread::sleep_for(3ms);  // the handler's work
    };
  };
  w.handlers.handle("step", step(first_runs));
  w.start();
  handler_registry others;
  others.handle("step", step(second_runs));
  sluice::server second(w.options, others);
  REQUIRE(second.start().ok());
  w.enqueue_many("step", 400);
  REQUIRE(w.all_end(400));
  CHECK(w.handler_runs.peak() == 1);
  CHECK(first_runs + second_runs == 400);
  CHECK(first_runs > 0);
  CHECK(second_runs > 0);
  second.stop();
  w.embedded->stop();
  CHECK(w.left_over().empty());
  CHECK(w.audit_is_clean());
}

TEST_CASE("jobs without overlap by their args wait for those alike alone and say for what") {
  std::latch may_end{1};
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.jobs["report"].without_overlap = "{customer}";
  w.handlers.handle("report", [&](job_context&) { may_end.wait(); });
  w.start();
  const auto first = w.enqueue("report", R"({"customer": 1})");
  REQUIRE(w.becomes(first, job_state::processing));
  const auto same = w.enqueue("report", R"({"customer": 1})");
  REQUIRE(w.becomes(same, job_state::throttled));
  CHECK(w.get(same).reason == "waits for mutex:overlap:report/1");
  const auto another = w.enqueue("report", R"({"customer": 2})");
  CHECK(w.becomes(another, job_state::processing));
  may_end.count_down();
  CHECK(w.becomes(same, job_state::succeeded));
  CHECK(w.becomes(another, job_state::succeeded));
  CHECK(w.left_over().empty());
}

TEST_CASE("a server does not start while a type names a throttler that is defined nowhere") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  for (const auto* ref : {"semaphore:nobody", "fixed_window:nobody"}) {
    w.options.jobs[ref].throttle = {ref};
    w.body(ref);
  }
  sluice::server s(w.options, w.handlers);
  const auto refused = s.start();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == errc::not_found);
  CHECK(refused.error().message ==
        "throttler fixed_window:nobody, which jobs.fixed_window:nobody names, is not defined; throttler "
        "semaphore:nobody, which jobs.semaphore:nobody names, is not defined; define them under throttlers of the "
        "configuration, or in the store with `sluice throttler set fixed_window:nobody …`");
  REQUIRE(w.client->set_throttler(semaphore("nobody", 1)).ok());
  REQUIRE(w.client->set_throttler(fixed_window("nobody", 100, 1s)).ok());
  REQUIRE(s.start().ok());
  CHECK(w.becomes(w.enqueue("semaphore:nobody"), job_state::succeeded));
  CHECK(w.becomes(w.enqueue("fixed_window:nobody"), job_state::succeeded));
  s.stop();
}

TEST_CASE("a job whose throttler was removed waits, says so, and runs once it is defined again") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  const auto window = fixed_window("gone", 100, 1s);
  REQUIRE(w.client->set_throttler(semaphore("gone", 1)).ok());
  REQUIRE(w.client->set_throttler(window).ok());
  for (const auto* ref : {"semaphore:gone", "fixed_window:gone"}) {
    w.options.jobs[ref].throttle = {ref};
    w.body(ref);
  }
  w.start();
  REQUIRE(w.client->remove_throttler(throttler_kind::semaphore, "gone").ok());
  REQUIRE(w.client->remove_throttler(throttler_kind::fixed_window, "gone").ok());
  for (const auto* ref : {"semaphore:gone", "fixed_window:gone"}) {
    const auto id = w.enqueue(ref);
    REQUIRE(w.becomes(id, job_state::scheduled));
    CHECK(w.client->explain(id)->text.find(std::string("throttler ") + ref + " is not defined") != std::string::npos);
    CHECK(w.get(id).attempt == 0);
    CHECK(w.get(id).reason.ends_with("; again in 15s"));
    CHECK(w.handler_runs.runs() == (ref == std::string("semaphore:gone") ? 0 : 1));
    REQUIRE(w.client->set_throttler(ref == std::string("semaphore:gone") ? semaphore("gone", 1) : window).ok());
    REQUIRE(w.client->requeue(id).ok());
    CHECK(w.becomes(id, job_state::succeeded));
  }
}

TEST_CASE("a job whose args do not fit the name of its mutex fails and names the place") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.jobs["process"].throttle = {"mutex:order:{order_id}"};
  w.body("process");
  w.start();
  const auto id = w.enqueue("process", "{\"order\":1}");
  REQUIRE(w.becomes(id, job_state::failed));
  CHECK(w.get(id).reason.find("order_id") != std::string::npos);
}

TEST_CASE("a queue whose first jobs are throttled goes on with those behind them") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {semaphore("api", 1)};
  w.options.jobs["slow"].throttle = {"semaphore:api"};
  auto release = std::make_shared<std::atomic<bool>>(false);
  w.handlers.handle("slow", [release](job_context& c) {
    while (!*release && !c.stop_requested())
      std::this_thread::yield();
  });
  w.body("light");
  w.start();
  w.enqueue_many("slow", 50);
  w.enqueue_many("light", 20);
  CHECK(eventually([&] { return w.counts().succeeded == 20; }));
  CHECK(eventually([&] { return w.counts().throttled == 49; }));
  *release = true;
  CHECK(w.all_end(70));
}

TEST_CASE("what a window defers starts in its later intervals") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {fixed_window("github", 5, 1s)};
  w.options.jobs["call"].throttle = {"fixed_window:github"};
  w.body("call");
  w.start();
  const auto began = std::chrono::system_clock::now();
  w.enqueue_many("call", 17);
  REQUIRE(w.all_end(17));
  // Seventeen take four intervals, and the last begins two seconds after the first has ended.
  CHECK(std::chrono::system_clock::now() - began > 2s);
  CHECK(w.handler_runs.runs() == 17);
  CHECK(w.left_over().empty());
}

TEST_CASE("what a throttler defers is deleted or scheduled again when its type says so") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {semaphore("api", 1)};
  for (const auto* type : {"hold", "delete", "retry"})
    w.options.jobs[type].throttle = {"semaphore:api"};
  w.options.jobs["delete"].when_throttled = throttle_action::remove;
  w.options.jobs["retry"].when_throttled = throttle_action::retry;
  w.options.jobs["retry"].throttle_delay = 20s;
  auto release = std::make_shared<std::atomic<bool>>(false);
  w.handlers.handle("hold", [release](job_context& c) {
    while (!*release && !c.stop_requested())
      std::this_thread::yield();
  });
  w.body("delete");
  w.body("retry");
  w.start();
  const auto holder = w.enqueue("hold");
  REQUIRE(eventually([&] { return w.left_over() == "semaphore:api 1/0; "; }));
  const auto deleted = w.enqueue("delete");
  const auto retried = w.enqueue("retry");
  REQUIRE(w.becomes(deleted, job_state::deleted));
  CHECK(w.get(deleted).reason == "deleted: deferred by semaphore:api");
  REQUIRE(w.becomes(retried, job_state::scheduled));
  const auto j = w.get(retried);
  CHECK(j.attempt == 0);
  CHECK(j.reason == "deferred by semaphore:api; again in 20s");
  CHECK(j.history.back().cause == "throttled");
  *release = true;
  CHECK(w.becomes(holder, job_state::succeeded));
  CHECK(w.left_over().empty());
  CHECK(w.handler_runs.runs() == 0);
}

TEST_CASE("a strict job that had to wait for its mutex keeps it through its retries too") {
  std::atomic<bool> go{false};
  std::mutex mutex;
  std::string order;
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.retry.delay = 300ms;
  w.options.retry.backoff = backoff::fixed;
  for (const auto* type : {"first", "failing", "other"})
    w.options.jobs[type].throttle = {"mutex:one"};
  w.options.jobs["failing"].strict = true;
  const auto note = [&](char c) {
    std::lock_guard hold(mutex);
    order += c;
  };
  w.handlers.handle("first", [&](job_context&) { eventually([&] { return go.load(); }); });
  w.handlers.handle("failing", [&](job_context& c) {
    note('f');
    if (c.attempt() < 3) throw std::runtime_error("not yet");
  });
  w.handlers.handle("other", [&](job_context&) { note('o'); });
  w.start();
  const auto first = w.enqueue("first");
  REQUIRE(eventually([&] { return w.get(first).state == job_state::processing; }));
  const auto failing = w.enqueue("failing");
  REQUIRE(eventually([&] { return w.get(failing).state == job_state::throttled; }));
  go = true;
  REQUIRE(eventually([&] { return w.get(failing).state == job_state::scheduled; }));
  w.enqueue("other");
  REQUIRE(w.all_end(3));
  CHECK(order == "fffo");
  CHECK(w.left_over().empty());
}

TEST_CASE("a strict job keeps its mutex through its retries and a relaxed one lets others run between") {
  for (const bool strict : {true, false}) {
    std::mutex mutex;
    std::string order;
    throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
    w.options.retry.delay = strict ? 300ms : 2s;  // the other comes before the retry
    w.options.retry.backoff = backoff::fixed;
    for (const auto* type : {"failing", "other"})
      w.options.jobs[type].throttle = {"mutex:one"};
    w.options.jobs["failing"].strict = strict;
    const auto note = [&](char c) {
      std::lock_guard hold(mutex);
      order += c;
    };
    w.handlers.handle("failing", [&](job_context& c) {
      note('f');
      if (c.attempt() < 3) throw std::runtime_error("not yet");
    });
    w.handlers.handle("other", [&](job_context&) { note('o'); });
    w.start();
    const auto failing = w.enqueue("failing");
    REQUIRE(eventually([&] { return w.get(failing).state == job_state::scheduled; }));
    w.enqueue("other");
    REQUIRE(w.all_end(2));
    CHECK(order == (strict ? "fffo" : "foff"));
    CHECK(w.left_over().empty());
  }
}

TEST_CASE("two types that take the same mutexes in opposite order all finish") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.jobs["ab"].throttle = {"mutex:a", "mutex:b"};
  w.options.jobs["ba"].throttle = {"mutex:b", "mutex:a"};
  w.body("ab", 0us);
  w.body("ba", 0us);
  w.start();
  for (int i = 0; i < 10; ++i) {
    w.enqueue_many("ab", 100);
    w.enqueue_many("ba", 100);
  }
  REQUIRE(w.all_end(2'000));
  CHECK(w.handler_runs.peak() == 1);
  CHECK(w.handler_runs.runs() == 2'000);
  CHECK(w.left_over().empty());
}

TEST_CASE("a job under a semaphore and a window obeys both and leaks neither") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {semaphore("api", 2), fixed_window("rate", 10, 1s)};
  w.options.jobs["call"].throttle = {"semaphore:api", "fixed_window:rate"};
  w.body("call");
  w.start();
  w.enqueue_many("call", 25);
  REQUIRE(w.all_end(25));
  CHECK(w.handler_runs.peak() <= 2);
  CHECK(w.handler_runs.runs() == 25);
  CHECK(w.left_over().empty());
}

TEST_CASE("the waiters of a paused queue stay until it is resumed") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {semaphore("api", 1)};
  w.options.jobs["hold"].throttle = {"semaphore:api"};
  w.options.queues["other"] = {2, 256, {}, {}};
  auto release = std::make_shared<std::atomic<bool>>(false);
  w.handlers.handle("hold", [release](job_context& c) {
    while (!*release && !c.stop_requested())
      std::this_thread::yield();
  });
  w.start();
  const auto first = w.enqueue("hold");
  REQUIRE(eventually([&] { return w.left_over() == "semaphore:api 1/0; "; }));
  const auto second = w.enqueue("hold", "{}", "other");
  REQUIRE(w.becomes(second, job_state::throttled));
  REQUIRE(w.client->pause(queue_name("other")));
  *release = true;
  REQUIRE(w.becomes(first, job_state::succeeded));
  CHECK(w.left_over() == "semaphore:api 0/1; ");
  REQUIRE(w.client->resume(queue_name("other")));
  CHECK(w.becomes(second, job_state::succeeded));
}

TEST_CASE("a permit for a job whose queue has no free worker goes to another queue by the next sweep") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {semaphore("api", 1)};
  w.options.jobs["hold"].throttle = {"semaphore:api"};
  w.options.queues["other"] = {1, 256, {}, {}};
  auto release = std::make_shared<std::atomic<bool>>(false);
  auto make_room = std::make_shared<std::atomic<bool>>(false);
  const auto until = [&](const std::string& type, const std::shared_ptr<std::atomic<bool>>& told) {
    w.handlers.handle(type, [told](job_context& c) {
      while (!*told && !c.stop_requested())
        std::this_thread::yield();
    });
  };
  until("hold", release);
  until("long", make_room);
  w.start();
  const auto first = w.enqueue("hold");
  REQUIRE(eventually([&] { return w.left_over() == "semaphore:api 1/0; "; }));
  const auto second = w.enqueue("hold", "{}", "other");
  REQUIRE(w.becomes(second, job_state::throttled));
  const auto busy = w.enqueue("long", "{}", "other");
  REQUIRE(w.becomes(busy, job_state::processing));
  const auto third = w.enqueue("hold");
  REQUIRE(w.becomes(third, job_state::throttled));
  const auto released = std::chrono::steady_clock::now();
  *release = true;
  REQUIRE(w.becomes(first, job_state::succeeded));
  CHECK(w.becomes(third, job_state::succeeded));
  CHECK(std::chrono::steady_clock::now() - released < w.options.lease / 2);
  CHECK(w.get(busy).state == job_state::processing);
  CHECK_FALSE(is_final(w.get(second).state));
  *make_room = true;
  CHECK(w.becomes(second, job_state::succeeded));
  CHECK(w.left_over().empty());
}

TEST_CASE("a window that opens while its waiters' queue is paused lets them in once it is resumed") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {fixed_window("github", 2, 1s)};
  w.options.jobs["call"].throttle = {"fixed_window:github"};
  w.body("call", 0us);
  w.start();
  w.enqueue_many("call", 6);
  REQUIRE(eventually([&] { return w.counts().throttled >= 2; }));
  REQUIRE(w.client->pause(queue_name("default")));
  const auto opened = std::chrono::system_clock::now() + 1500ms;
  REQUIRE(eventually([&] { return std::chrono::system_clock::now() > opened; }));
  CHECK(w.counts().throttled >= 2);
  REQUIRE(w.client->resume(queue_name("default")));
  REQUIRE(w.all_end(6));
  CHECK(w.handler_runs.runs() == 6);
}

TEST_CASE("a throttler whose actors die with runs in hand loses none and leaks nothing") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {semaphore("api", 3)};
  w.options.jobs["call"].throttle = {"semaphore:api", "custom:silent"};
  w.body("call", 0us);
  // Takes questions and dies of the first ones without an answer.
  auto dies = std::make_shared<std::atomic<int>>(1);
  const auto silent = [dies](throttler_actor::pointer self) -> throttler_actor::behavior_type {
    auto waiting = std::make_shared<std::vector<caf::typed_response_promise<std::vector<throttle_verdict>>>>();
    return {
        [self, dies, waiting](
            acquire_atom, const std::vector<throttle_request>& asked) -> caf::result<std::vector<throttle_verdict>> {
          if (*dies == 0) return std::vector<throttle_verdict>(asked.size());
          --*dies;
          auto promise = self->make_response_promise<std::vector<throttle_verdict>>();
          waiting->push_back(promise);
          self->quit(caf::exit_reason::unhandled_exception);
          return promise;
        },
        [](ended_runs_atom, const std::vector<throttled_end>&) {}};
  };
  auto first = w.system.spawn(silent);
  throttle_by_actor(w.handlers, "silent", first);
  w.start();
  w.enqueue_many("call", 12);
  REQUIRE(eventually([&] { return *dies == 0; }));
  REQUIRE(eventually([&] { return w.counts().throttled == 12; }));
  auto second = w.system.spawn(silent);
  caf::anon_send(w.embedded->handle(), set_throttler_actor_atom::value, std::string("silent"), second);
  REQUIRE(w.all_end(12));
  CHECK(w.handler_runs.runs() == 12);
  CHECK(w.left_over().empty());
  w.embedded->stop();
  caf::anon_send_exit(second, caf::exit_reason::kill);
  CHECK(w.audit_is_clean());
}

TEST_CASE("a throttler of the user's is a pure function over a limiter") {
  // Lets in one, then none for 200 ms.
  class one_by_one final : public limiter {
  public:
    limiter_step take(std::string_view state, time_point now, std::span<const limiter_request> wanted) const override {
      const time_point next(duration(state.empty() ? 0 : std::stoll(std::string(state))));
      limiter_step step{std::string(state), now - 1h, now + 1h, {}};
      bool free = now >= next;
      for (const auto& w : wanted) {
        const bool granted = free && w.count > 0;
        if (granted) step.state = std::to_string((now + 200ms).time_since_epoch().count());
        free = free && !granted;
        step.each.push_back({granted ? 1u : 0u, granted ? now + 200ms : next});
      }
      return step;
    }
  };
  std::mutex mutex;
  std::vector<std::chrono::steady_clock::time_point> runs;
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.jobs["call"].throttle = {"custom:slow"};
  w.handlers.limit("slow", std::make_shared<one_by_one>());
  w.handlers.handle("call", [&](job_context&) {
    std::lock_guard hold(mutex);
    runs.push_back(std::chrono::steady_clock::now());
  });
  w.start();
  const auto before = std::chrono::steady_clock::now();
  w.enqueue_many("call", 6);
  REQUIRE(w.all_end(6));
  CHECK(runs.back() - before >= 5 * 200ms - 1ms);
}

TEST_CASE("a job whose limiter keeps more than a store takes is put off and says so") {
  class hoarder final : public limiter {
  public:
    limiter_step take(std::string_view, time_point now, std::span<const limiter_request> wanted) const override {
      limiter_step step{std::string(storage::longest_state + 1, 'x'), now - 1h, now + 1h, {}};
      for (const auto& w : wanted)
        step.each.push_back({w.count, {}});
      return step;
    }
  };
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.jobs["call"].throttle = {"custom:hoarder"};
  w.handlers.limit("hoarder", std::make_shared<hoarder>());
  w.body("call");
  w.body("plain");
  w.start();
  const auto kept = w.enqueue("call");
  REQUIRE(w.becomes(kept, job_state::scheduled));
  const auto why = w.client->explain(kept);
  REQUIRE(why.ok());
  CHECK(why->reason == explain_reason::deferred);
  CHECK(why->text.find("too_large") != std::string::npos);
  CHECK(why->text.find("custom:hoarder") != std::string::npos);
  CHECK(w.becomes(w.enqueue("plain"), job_state::succeeded));
  CHECK(w.handler_runs.runs() == 1);
}

TEST_CASE("an actor of the host is a throttler beside built-in ones and its death costs no permit") {
  throttle_world w(GENERATE(as<std::string>{}, "sqlite", "redis"));
  w.options.throttlers = {semaphore("api", 3)};
  w.options.jobs["call"].throttle = {"semaphore:api", "custom:doorman"};
  w.body("call");
  auto inside = std::make_shared<std::atomic<int>>(0);
  auto let_in = std::make_shared<std::atomic<int>>(0);
  const auto doorman = [inside, let_in](throttler_actor::pointer) -> throttler_actor::behavior_type {
    return {[inside, let_in](acquire_atom, const std::vector<throttle_request>& asked) {
              std::vector<throttle_verdict> verdicts;
              for (const auto& a : asked) {
                (void)a;
                const bool in = inside->load() < 2;
                if (in) ++*inside, ++*let_in;
                verdicts.push_back(in ? throttle_verdict{} : throttle_verdict{admission::deferred, duration(20ms), {}});
              }
              return verdicts;
            },
            [inside](ended_runs_atom, const std::vector<throttled_end>& ends) {
              *inside -= static_cast<int>(ends.size());
            }};
  };
  auto first = w.system.spawn(doorman);
  throttle_by_actor(w.handlers, "doorman", first);
  w.start();
  w.enqueue_many("call", 30);
  REQUIRE(eventually([&] { return w.counts().succeeded >= 5; }));
  caf::anon_send_exit(first, caf::exit_reason::kill);
  first = nullptr;
  w.enqueue_many("call", 10);
  REQUIRE(eventually([&] { return w.left_over().find("semaphore:api") == std::string::npos; }));
  *inside = 0;  // its successor knows nothing of before
  auto second = w.system.spawn(doorman);
  caf::anon_send(w.embedded->handle(), set_throttler_actor_atom::value, std::string("doorman"), second);
  REQUIRE(w.all_end(40));
  CHECK(w.handler_runs.peak() <= 3);
  CHECK(w.handler_runs.runs() == 40);
  CHECK(w.left_over().empty());
  w.embedded->stop();
  caf::anon_send_exit(second, caf::exit_reason::kill);
  CHECK(w.audit_is_clean());
}

TEST_CASE("a run is not lost by a custom throttler that says what only our own may say") {
  throttle_world w("sqlite");
  w.options.jobs["call"].throttle = {"custom:odd"};
  w.body("call");
  const auto wrong = GENERATE(admission::parked, admission::stale, admission::undecided);
  auto asked_before = std::make_shared<std::atomic<bool>>(false);
  const auto odd = [wrong, asked_before](throttler_actor::pointer) -> throttler_actor::behavior_type {
    return {[wrong, asked_before](acquire_atom, const std::vector<throttle_request>& asked) {
              const auto what = asked_before->exchange(true) ? admission::granted : wrong;
              return std::vector<throttle_verdict>(asked.size(), throttle_verdict{what, {}, {}});
            },
            [](ended_runs_atom, const std::vector<throttled_end>&) {}};
  };
  auto actor = w.system.spawn(odd);
  throttle_by_actor(w.handlers, "odd", actor);
  w.start();
  const auto id = w.enqueue("call");
  REQUIRE(w.all_end(1));
  CHECK(w.handler_runs.runs() == 1);
  CHECK(w.get(id).losses == 0);
  CHECK(w.get(id).attempt == 1);
  w.embedded->stop();
  caf::anon_send_exit(actor, caf::exit_reason::kill);
}

TEST_CASE(
    "a run whose throttler the store refuses for good is put off and frees its worker and runs once that is mended") {
  redis_server redis;
  std::atomic<int> runs{0};
  host_world w(redis.url());
  w.options.queues = {{"default", {1, 0, {}, {}}}};
  w.options.throttlers = {fixed_window("github", 5, 24h)};
  const auto [type, ref, key] = GENERATE(table<const char*, const char*, const char*>(
      {{"window", "fixed_window:github", "{sluice}:limiters"}, {"mutex", "mutex:order:{n}", "{sluice}:limits"}}));
  w.options.jobs[type].throttle = {ref};
  w.options.jobs[type].when_throttled = GENERATE(throttle_action::wait, throttle_action::remove);
  w.handlers.handle(type, [&](job_context&) { ++runs; });
  w.handlers.handle("other", [](job_context&) {});
  w.start();
  REQUIRE(w.becomes(w.enqueue("other"), job_state::succeeded));
  redis.command({"DEL", key});
  redis.command({"SET", key, "no hash any more"});
  const auto id = w.enqueue(type, R"({"n":1})");
  const auto behind = w.enqueue("other");
  REQUIRE(w.becomes(id, job_state::scheduled));  // never deleted, whatever its type's policy
  CHECK(w.becomes(behind, job_state::succeeded));
  const auto postponed_by_store = w.get(id);
  CHECK(postponed_by_store.attempt == 0);
  CHECK(postponed_by_store.reason.find("storage_damaged") != std::string::npos);
  CHECK(postponed_by_store.history.back().cause == "throttled");
  CHECK(w.client->explain(id)->reason == explain_reason::deferred);
  redis.command({"DEL", key});
  REQUIRE(w.client->requeue(id).ok());
  CHECK(w.becomes(id, job_state::succeeded));
  CHECK(runs == 1);
}

}  // namespace sluice::test
