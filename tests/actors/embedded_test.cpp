#include <sluice/job_graph.hpp>
#include <sluice/json.hpp>
#include <sluice/log.hpp>

#include <deque>
#include <latch>
#include <mutex>
#include <set>

#include "actors/host_world.hpp"
#include "core/log.hpp"
#include "support/catch.hpp"

struct greeting {
  std::string name;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(greeting, name)
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, greeting& g) {
  return f(caf::meta::type_name("greeting"), g.name);
}

namespace sluice::test {
namespace {

using caf::behavior;
using caf::event_based_actor;

// Answers each job with its attempt.
behavior counting(event_based_actor*) {
  return {[](const run_job& run) { return "run " + std::to_string(run.attempt()); }};
}

// Takes jobs and never answers; `has` counts them.
auto silent(std::atomic<int>& has) {
  return [&has](event_based_actor* self) -> behavior {
    return {[self, &has, held = std::vector<caf::response_promise>()](const run_job&) mutable {
      held.push_back(self->make_response_promise());
      ++has;
      return held.back();
    }};
  };
}

}  // namespace

TEST_CASE("a host's actor enqueues by message and is told of the outcome") {
  host_world w;
  w.handlers.handle("greet", [](job_context& c) { return "hello " + c.args(); });
  w.start();
  const auto id = w.send_enqueue(w.job_of("greet", "\"host\""), true);
  REQUIRE(id.ok());
  REQUIRE(eventually([&] { return w.ends.size() == 1; }));
  const auto end = w.ends.all().at(0);
  CHECK(end.known);
  CHECK(end.about.id == *id);
  CHECK(end.about.state == job_state::succeeded);
  CHECK(end.about.result == "hello \"host\"");
}

TEST_CASE("what is wrong with a job is answered to the host as an error that names it") {
  host_world w;
  w.start();
  const auto refused = w.send_enqueue(w.job_of("no type!"), true);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == errc::invalid_argument);
  CHECK(refused.error().message.find("no type!") != std::string::npos);
  auto one = w.job_of("greet");
  one.id = job_id("same");
  REQUIRE(w.send_enqueue(one).ok());
  one.args = "[1]";
  const auto other = w.send_enqueue(one, true);
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().code == errc::id_conflict);
  CHECK(w.ends.size() == 0);
}

TEST_CASE("a watched job that a person deletes is told within a sweep, one that was never there at once") {
  host_world w;
  w.start();
  const auto id = w.enqueue("unknown_type");
  caf::anon_send(w.embedded->handle(), watch_atom::value, id, w.observer);
  caf::anon_send(w.embedded->handle(), watch_atom::value, job_id("nobody"), w.observer);
  REQUIRE(eventually([&] { return w.ends.size() == 1; }));
  CHECK(w.ends.all()[0].about.id == job_id("nobody"));
  CHECK_FALSE(w.ends.all()[0].known);
  REQUIRE(w.client->remove(id).ok());
  REQUIRE(eventually([&] { return w.ends.size() == 2; }));
  CHECK(w.ends.all()[1].about.id == id);
  CHECK(w.ends.all()[1].about.state == job_state::deleted);
}

TEST_CASE("a job is found by message") {
  host_world w;
  w.start();
  const auto id = w.enqueue("unknown_type", "[7]");
  caf::scoped_actor self{w.system};
  std::string args;
  self->request(w.embedded->handle(), 10s, find_atom::value, id)
      .receive([&](const job& found) { args = found.args; }, [](caf::error&) {});
  CHECK(args == "[7]");
  error refused;
  self->request(w.embedded->handle(), 10s, find_atom::value, job_id("nobody"))
      .receive([](const job&) {}, [&](caf::error& e) { refused = error_of(e); });
  CHECK(refused.code == errc::not_found);
}

TEST_CASE("groups are made, filled, sealed and cancelled, and jobs cancelled, by message") {
  host_world w;
  w.start();
  caf::scoped_actor self{w.system};
  error refused;
  const auto fail = [&](caf::error& e) { refused = error_of(e); };
  group_status seen;
  const auto keep = [&](const group_status& g) { seen = g; };
  const auto& server = w.embedded->handle();
  self->request(server, 10s, group_atom::value, new_group{"pages"}).receive(keep, fail);
  CHECK(seen.name.value == "pages");
  job_id id;
  new_job member;
  member.type = "nobody_knows_it";
  member.group = "pages";
  member.start_within = 1h;
  member.unique = unique_rule{};
  for (int i = 0; i < 2; ++i)
    self->request(server, 10s, enqueue_atom::value, member).receive([&](const job_id& told) { id = told; }, fail);
  self->request(server, 10s, seal_group_atom::value, group_name("pages")).receive(keep, fail);
  CHECK(seen.sealed);
  CHECK(seen.open == 1);  // the second has the same unique key
  self->request(server, 10s, enqueue_atom::value, new_job{.type = "work", .group = "pages"})
      .receive([](const job_id&) {}, fail);
  CHECK(refused.code == errc::group_closed);
  job_id cancelled;
  self->request(server, 10s, cancel_atom::value, id).receive([&](const job_id& told) { cancelled = told; }, fail);
  CHECK(cancelled == id);
  self->request(server, 10s, group_atom::value, group_name("pages")).receive(keep, fail);
  CHECK(seen.deleted == 1);
  CHECK(seen.finished_at);
  self->request(server, 10s, cancel_group_atom::value, group_name("pages")).receive(keep, fail);
  CHECK(refused.code == errc::illegal_transition);
  self->request(server, 10s, group_atom::value, new_group{"no name"}).receive(keep, fail);
  CHECK(refused.code == errc::invalid_argument);
}

TEST_CASE("jobs that run after each other are stored all or none by message") {
  host_world w;
  w.start();
  const auto store = [&](std::vector<new_job> jobs) {
    caf::scoped_actor self{w.system};
    result<std::vector<job_id>> told = error{errc::timed_out, "no answer"};
    self->request(w.embedded->handle(), 10s, enqueue_all_atom::value, std::move(jobs))
        .receive([&](const std::vector<job_id>& ids) { told = ids; }, [&](caf::error& e) { told = error_of(e); });
    return told;
  };
  job_graph graph;
  const auto first = graph.add(w.job_of("nobody_knows_it"));
  const auto second = graph.add(w.job_of("nobody_knows_it"), {first});
  CHECK(store(graph.jobs()).value() == std::vector<job_id>{first, second});
  CHECK(store(graph.jobs()).ok());
  CHECK(w.client->get(second).value().state == job_state::awaiting);

  job_graph bad;
  const auto fine = bad.add(w.job_of("nobody_knows_it"));
  const auto lost = bad.add(w.job_of("nobody_knows_it"), {"nobody"_id});
  const auto refused = store(bad.jobs());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == errc::not_found);
  CHECK(refused.error().message ==
        "job " + lost.value + " was not stored: its parent nobody is not in the store; none of these was stored");
  CHECK(store({w.job_of("fine"), w.job_of("no name")}).error().message.find("job 2 of these: job type 'no name'") == 0);
  CHECK(w.client->get(fine).error().code == errc::not_found);
}

TEST_CASE("what came of a unique key is told by message, and the end of the job that stands for another") {
  host_world w;
  w.start();
  caf::scoped_actor self{w.system};
  const auto store = [&](const std::string& id, unique_rule rule, duration delay = 1h) {
    auto job = w.job_of("nobody_knows_it");
    job.id = job_id(id);
    job.delay = delay;
    job.unique = std::move(rule);
    result<enqueue_report> told = error{errc::timed_out, "no answer"};
    self->request(w.embedded->handle(), 10s, enqueue_reporting_atom::value, std::move(job))
        .receive([&](const enqueue_report& report) { told = report; }, [&](caf::error& e) { told = error_of(e); });
    return told;
  };
  CHECK(store("a", {})->what == enqueue_result::stored);
  CHECK(store("a", {})->what == enqueue_result::same);
  CHECK(store("b", {})->what == enqueue_result::duplicate);
  CHECK(store("b", {})->id == "a"_id);
  CHECK(store("b", {.then = when_taken::extend}, 2h)->what == enqueue_result::extended);
  CHECK(store("b", {.then = when_taken::refuse}).error().code == errc::unique_conflict);
  const auto taken = store("c", {.then = when_taken::replace}).value();
  CHECK(taken.what == enqueue_result::replaced);
  CHECK(taken.replaced == "a"_id);

  auto twin = w.job_of("nobody_knows_it");
  twin.unique = unique_rule{};
  CHECK(w.send_enqueue(std::move(twin), true).value() == "c"_id);
  CHECK(w.ends.size() == 0);
  REQUIRE(w.client->cancel("c"_id).ok());
  REQUIRE(eventually([&] { return w.ends.size() == 1; }));
  CHECK(w.ends.all()[0].about.id == "c"_id);
  CHECK(w.ends.all()[0].about.state == job_state::deleted);
}

TEST_CASE("the failed members of a group are requeued by message") {
  std::atomic<bool> fails = true;
  host_world w;
  w.handlers.handle("work", [&](job_context&) {
    if (fails) throw std::runtime_error("not yet");
  });
  w.options.retry.attempts = 0;
  w.start();
  REQUIRE(w.client->create_group({"pages"}));
  for (int i = 0; i < 3; ++i) {
    auto member = w.job_of("work");
    member.group = "pages";
    REQUIRE(w.send_enqueue(std::move(member)).ok());
  }
  REQUIRE(w.client->seal_group("pages"));
  REQUIRE(eventually([&] { return w.client->group("pages")->failed == 3; }));
  fails = false;
  caf::scoped_actor self{w.system};
  const auto requeue = [&](const std::string& name) {
    result<std::uint64_t> told = error{errc::timed_out, "no answer"};
    self->request(w.embedded->handle(), 10s, requeue_failed_atom::value, group_name(name))
        .receive([&](std::uint64_t count) { told = count; }, [&](caf::error& e) { told = error_of(e); });
    return told;
  };
  CHECK(requeue("pages").value() == 3);
  CHECK(eventually([&] { return w.client->group("pages")->succeeded == 3; }));
  CHECK(requeue("pages").value() == 0);
  CHECK(requeue("nothing").error().code == errc::not_found);
}

TEST_CASE("locks are taken and renewed and released by message") {
  host_world w;
  w.start();
  caf::scoped_actor self{w.system};
  error refused;
  const auto fail = [&](caf::error& e) { refused = error_of(e); };
  lock_verdict verdict;
  const auto take = [&](take_lock wish) {
    refused = {};
    verdict = {};
    self->request(w.embedded->handle(), 10s, lock_atom::value, std::move(wish))
        .receive([&](const lock_verdict& told) { verdict = told; }, fail);
  };
  take({"the printer", 30s, "a"});
  REQUIRE(verdict.taken);
  const auto mine = verdict.now.fence;
  take({"the printer", 30s, "b"});
  CHECK_FALSE(verdict.taken);
  CHECK(verdict.now.holder == "a");
  CHECK(verdict.now.fence == mine);
  lock_holder renewed;
  const auto renew = [&](sluice::fence f) {
    refused = {};
    self->request(w.embedded->handle(), 10s, lock_atom::value, renew_lock{"the printer", f, 1h})
        .receive([&](const lock_holder& told) { renewed = told; }, fail);
  };
  renew(mine);
  CHECK(refused.code == errc::none);
  CHECK(renewed.left > 59min);
  renew(sluice::fence{1});
  CHECK(refused.code == errc::stale_fence);
  CHECK(refused.message.find("held by a") != std::string::npos);
  const auto release = [&](sluice::fence f) {
    refused = {};
    self->request(w.embedded->handle(), 10s, lock_atom::value, release_lock{"the printer", f})
        .receive([&](sluice::fence) {}, fail);
  };
  release(sluice::fence{1});
  CHECK(refused.code == errc::stale_fence);
  release(mine);
  CHECK(refused.code == errc::none);
  release(mine);
  CHECK(refused.code == errc::none);
  take({"the printer", 30s, {}});
  CHECK(verdict.taken);
  CHECK(verdict.now.fence > mine);
  CHECK_FALSE(verdict.now.holder.empty());
  take({"", 30s, {}});
  CHECK(refused.code == errc::invalid_argument);
  take({"the printer", 1ms, {}});
  CHECK(refused.code == errc::invalid_argument);
}

TEST_CASE("an actor of the host handles a job type, and its answer is the outcome") {
  host_world w;
  w.options.retry.attempts = 0;
  const auto actor = w.spawn([](event_based_actor*) -> behavior {
    return {[](const run_job& run) -> caf::result<std::string> {
      if (run.args() == "\"refuse\"") return to_caf({errc::refused, "not today"});
      return "did " + run.args();
    }};
  });
  const auto quiet = w.spawn([](event_based_actor*) -> behavior { return {[](const run_job&) {}}; });
  const auto outcomes = w.spawn([](event_based_actor*) -> behavior {
    return {[](const run_job& run) {
      return run.attempt() == 1 ? outcome::retry_in(1ms, "once more") : outcome::succeeded("second");
    }};
  });
  const auto numbers = w.spawn([](event_based_actor*) -> behavior { return {[](const run_job&) { return 42; }}; });
  const auto deaf = w.spawn([](event_based_actor* self) -> behavior {
    self->set_default_handler(caf::drop);
    return {[](int) {}};
  });
  handle_by_actor(w.handlers, "text", actor);
  handle_by_actor(w.handlers, "quiet", quiet);
  handle_by_actor(w.handlers, "outcome", outcomes);
  handle_by_actor(w.handlers, "number", numbers);
  handle_by_actor(w.handlers, "deaf", deaf);
  const auto host = w.spawn(
      [](event_based_actor*) -> behavior { return {[](const greeting& g) { return greeting{"from " + g.name}; }}; });
  handle_by_actor<greeting>(w.handlers, "no_result_type", host);
  handle_by_actor<greeting, greeting>(w.handlers, "result_type", host);
  w.start();

  const auto fine = w.enqueue("text", "\"this\"");
  const auto refused = w.enqueue("text", "\"refuse\"");
  const auto nothing = w.enqueue("quiet");
  const auto again = w.enqueue("outcome");
  const auto number = w.enqueue("number");
  const auto unheard = w.enqueue("deaf");
  REQUIRE(w.becomes(fine, job_state::succeeded));
  CHECK(w.get(fine).result == "did \"this\"");
  REQUIRE(w.becomes(refused, job_state::failed));
  CHECK(w.get(refused).reason.find("not today") != std::string::npos);
  CHECK(w.becomes(nothing, job_state::succeeded));
  REQUIRE(w.becomes(again, job_state::succeeded));
  CHECK(w.get(again).result == "second");
  CHECK(w.get(again).attempt == 2);
  REQUIRE(w.becomes(number, job_state::succeeded));
  CHECK(w.get(number).result == "42");
  const auto struct_of_its_own = w.enqueue("result_type", R"({"name": "Ada"})");
  REQUIRE(w.becomes(struct_of_its_own, job_state::succeeded));
  CHECK(w.get(struct_of_its_own).result == R"({"name":"from Ada"})");
  const auto unknown = w.enqueue("no_result_type", R"({"name": "Ada"})");
  REQUIRE(w.becomes(unknown, job_state::failed));
  CHECK(w.get(unknown).reason.find("no outcome") != std::string::npos);
  CHECK(w.becomes(unheard, job_state::failed));
}

TEST_CASE("an actor may be sent its own args struct, and args that do not fit have failed at once and say why") {
  host_world w;
  const auto actor =
      w.spawn([](event_based_actor*) -> behavior { return {[](const greeting& g) { return "hello " + g.name; }}; });
  handle_by_actor<greeting>(w.handlers, "greet", actor);
  w.start();
  const auto fine = w.enqueue("greet", R"({"name": "Ada"})");
  const auto bad = w.enqueue("greet", R"({"nom": "Ada"})");
  REQUIRE(w.becomes(fine, job_state::succeeded));
  CHECK(w.get(fine).result == "hello Ada");
  REQUIRE(w.becomes(bad, job_state::failed));
  CHECK(w.get(bad).reason.find("do not fit") != std::string::npos);
}

TEST_CASE("an actor that gives no answer in time is a failed run, and its worker is free for the next") {
  std::atomic<int> has{0};
  host_world w;
  w.options.queues["default"].workers = 1;
  w.options.retry.attempts = 0;
  w.options.jobs["silent"].timeout = 50ms;
  handle_by_actor(w.handlers, "silent", w.spawn(silent(has)));
  handle_by_actor(w.handlers, "counting", w.spawn(counting));
  w.start();
  const auto bad = w.enqueue("silent");
  const auto good = w.enqueue("counting");
  REQUIRE(w.becomes(bad, job_state::failed));
  CHECK(w.get(bad).history.back().cause == "timed_out");
  CHECK(w.becomes(good, job_state::succeeded));
}

TEST_CASE("when a host's actors end while its server stops, no warning tells of it, and their jobs are given back") {
  std::mutex lock;
  std::string said;
  set_log_sink([&](log_level, std::string_view line) {
    const std::lock_guard hold(lock);
    said.append(line) += '\n';
  });
  set_log_level(log_level::warn);
  {
    std::atomic<int> has{0};
    host_world w;
    const auto ends_with_its_job = [&has](event_based_actor* self) -> behavior {
      using told = std::stop_callback<std::function<void()>>;
      return {[self, &has, when_asked = std::shared_ptr<told>()](const run_job& run) mutable {
        when_asked = std::make_shared<told>(run.stop(), [me = caf::actor_cast<caf::actor>(self)] {
          caf::anon_send_exit(me, caf::exit_reason::user_shutdown);
        });
        ++has;
        return self->make_response_promise();
      }};
    };
    handle_by_actor(w.handlers, "long", w.spawn(ends_with_its_job));
    w.start();
    const auto id = w.enqueue("long");
    REQUIRE(eventually([&] { return has == 1; }));
    w.embedded->stop();
    CHECK(w.get(id).state == job_state::enqueued);
    CHECK(w.get(id).attempt == 0);
  }
  set_log_level(log_level::off);
  log::flush(10s);
  set_log_sink({});
  CHECK(said == "");
}

TEST_CASE("functions and actors share a queue's workers") {
  std::atomic<int> functions{0};
  host_world w;
  w.options.queues["default"].workers = 3;
  w.handlers.handle("function", [&](job_context&) { ++functions; });
  handle_by_actor(w.handlers, "actor", w.spawn(counting));
  w.start();
  std::vector<new_job> batch;
  for (int i = 0; i < 600; ++i)
    batch.push_back(w.job_of(i % 3 == 0 ? "function" : "actor"));
  for (const auto& stored : w.client->enqueue(std::move(batch)))
    REQUIRE(stored.ok());
  CHECK(eventually([&] { return w.counts().succeeded == 600; }));
  CHECK(functions == 200);
}

TEST_CASE("never more jobs are with a host's actors than the queue has workers") {
  host_world w;
  w.options.queues["default"].workers = 3;
  auto now = std::make_shared<std::atomic<int>>(0);
  auto most = std::make_shared<std::atomic<int>>(0);
  auto held = std::make_shared<std::deque<caf::response_promise>>();
  const auto actor = w.spawn([=](event_based_actor* self) -> behavior {
    return {[=](const run_job&) {
              most->store(std::max(most->load(), ++*now));
              held->push_back(self->make_response_promise());
              self->delayed_send(self, 2ms, caf::tick_atom::value);
              return held->back();
            },
            [=](caf::tick_atom) {
              --*now;
              held->front().deliver(caf::unit);
              held->pop_front();
            }};
  });
  handle_by_actor(w.handlers, "slow", actor);
  w.start();
  for (const auto& stored : w.client->enqueue(std::vector<new_job>(60, w.job_of("slow"))))
    REQUIRE(stored.ok());
  CHECK(eventually([&] { return w.counts().succeeded == 60; }));
  CHECK(*most == 3);
}

TEST_CASE("an exception of a caught message handler is a failed run with its words, and the actor lives") {
  struct silent_exception : std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  using typed = caf::typed_actor<caf::replies_to<greeting>::with<greeting>>;
  host_world w;
  w.options.retry.attempts = 0;
  const auto actor = w.spawn([](event_based_actor*) -> behavior {
    return {caught([ran = 0](const run_job& run) mutable {
              ++ran;
              if (run.args() == "1") throw std::runtime_error("no paper");
              if (run.args() == "2") throw silent_exception();
              if (run.args() == "3") throw 3;
              return ran;
            }),
            caught([](int) { throw std::runtime_error("no number"); })};
  });
  auto refusing = w.system.spawn([](typed::pointer) -> typed::behavior_type {
    return {caught([](greeting& g) -> caf::result<greeting> {
      if (g.name.empty()) throw std::runtime_error("no name");
      return greeting{"from " + g.name};
    })};
  });
  handle_by_actor(w.handlers, "print", actor);
  handle_by_actor<greeting, greeting>(w.handlers, "greet", refusing);
  w.start();
  const auto fails = [&](const char* type, const char* args, const char* why) {
    const auto id = w.enqueue(type, args);
    REQUIRE(w.becomes(id, job_state::failed));
    CHECK(w.get(id).reason == why);
    CHECK(w.get(id).history.back().cause != "handler_died");
  };
  fails("print", "1", "failed: no paper");
  fails("print", "2", "failed: an exception without words");
  fails("print", "3", "failed: threw something that is no std::exception");
  fails("greet", R"({"name": ""})", "failed: no name");
  const auto fine = w.enqueue("print", "4");
  REQUIRE(w.becomes(fine, job_state::succeeded));
  CHECK(w.get(fine).result == "4");  // the same actor
  const auto greeted = w.enqueue("greet", R"({"name": "Ada"})");
  REQUIRE(w.becomes(greeted, job_state::succeeded));
  CHECK(w.get(greeted).result == R"({"name":"from Ada"})");
  caf::anon_send_exit(refusing, caf::exit_reason::kill);
}

TEST_CASE("the death of a host's actor fails what it had in hand, and its type waits for another") {
  std::atomic<int> has{0};
  host_world w;
  w.options.queues["default"].workers = 2;
  w.options.retry = {.attempts = 1, .backoff = {}, .delay = 1ms, .max_delay = {}, .jitter = {}, .then = {}};
  const auto first = w.spawn(silent(has));
  handle_by_actor(w.handlers, "mine", first);
  w.start();
  const auto id = w.enqueue("mine");
  REQUIRE(eventually([&] { return has == 1; }));
  caf::anon_send_exit(first, caf::exit_reason::kill);
  // It failed, was made ready again by its retry, and nobody here knows its type now.
  REQUIRE(eventually([&] { return w.get(id).line == "type:mine"; }));
  CHECK(w.get(id).history.back().cause == "handler_died");
  const auto waiting = w.enqueue("mine");
  REQUIRE(eventually([&] { return w.get(waiting).line == "type:mine"; }));
  CHECK(w.get(waiting).history.empty());

  caf::anon_send(w.embedded->handle(), set_handler_atom::value, job_type("mine"), w.spawn(counting));
  REQUIRE(w.becomes(id, job_state::succeeded));
  CHECK(w.get(id).result == "run 2");
  REQUIRE(w.becomes(waiting, job_state::succeeded));
  CHECK(w.get(waiting).history.size() == 1);
}

TEST_CASE("a thousand jobs survive the death and rebirth of the actor that handles them") {
  host_world w;
  w.options.queues["default"].workers = 8;
  w.options.retry = {.attempts = 20, .backoff = {}, .delay = 1ms, .max_delay = {}, .jitter = {}, .then = {}};
  constexpr std::size_t jobs = 1'000;
  auto runs = std::make_shared<std::atomic<int>>(0);
  struct sent_runs {
    std::mutex mutex;
    std::multiset<std::uint64_t> fences;
  };
  auto sent = std::make_shared<sent_runs>();
  const auto make = [&] {
    return w.spawn([runs, sent](event_based_actor* self) -> behavior {
      // Answers a little later, so that its death finds it with jobs in hand.
      auto held = std::make_shared<std::deque<std::pair<caf::response_promise, run_job>>>();
      return {[=](const run_job& run) {
                {
                  std::lock_guard hold(sent->mutex);
                  sent->fences.insert(run.fence().value);
                }
                ++*runs;
                held->emplace_back(self->make_response_promise(), run);
                self->delayed_send(self, 1ms, caf::tick_atom::value);
                return held->back().first;
              },
              [=](caf::tick_atom) {
                auto& [promise, run] = held->front();
                promise.deliver(std::to_string(run.fence().value));
                held->pop_front();
              }};
    });
  };
  auto actor = make();
  handle_by_actor(w.handlers, "mine", actor);
  w.start();
  for (const auto& stored : w.client->enqueue(std::vector<new_job>(jobs, w.job_of("mine"))))
    REQUIRE(stored.ok());
  for (const int killed_at : {200, 500, 800}) {
    REQUIRE(eventually([&] { return *runs >= killed_at; }));
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    actor = make();
    caf::anon_send(w.embedded->handle(), set_handler_atom::value, job_type("mine"), actor);
  }
  REQUIRE(eventually([&] { return w.counts().succeeded == jobs; }, 60s));

  std::set<std::uint64_t> fences;
  std::size_t attempts = 0, died = 0, recorded = 0;
  job_query query;
  query.limit = 200;
  do {
    const auto page = w.client->list(query);
    REQUIRE(page.ok());
    for (const auto& j : page->jobs) {
      for (const auto& run : j.history) {
        ++attempts;
        fences.insert(run.fence.value);
        if (run.cause == "handler_died") ++died;
        else if (run.cause == "succeeded") CHECK(j.result == std::to_string(run.fence.value));
        else CHECK(run.cause == "given_back");
        // What the actor began has ended as a run, and it began nothing twice.
        std::lock_guard hold(sent->mutex);
        const auto times = sent->fences.count(run.fence.value);
        CHECK(times <= 1);
        if (run.cause == "given_back") CHECK(times == 0);
        if (run.cause == "succeeded") CHECK(times == 1);
        recorded += times;
      }
      CHECK(j.history.back().cause == "succeeded");
    }
    query.after = page->next;
  } while (!query.after.empty());
  CHECK(fences.size() == attempts);
  CHECK(recorded == sent->fences.size());  // each run that the actor saw has its one outcome
  CHECK(died > 0);
}

TEST_CASE("a host whose scheduler is busy for five leases loses none") {
  std::atomic<int> runs{0};
  std::atomic<bool> release{false};
  std::latch running(2);
  std::latch busy(2), over(2);
  host_world w;
  w.options.lease = 2s;
  w.options.queues["default"].workers = 2;
  w.handlers.handle("long", [&](job_context&) {
    ++runs;
    running.count_down();
    release.wait(false);
  });
  handle_by_actor(w.handlers, "actor", w.spawn(counting));
  w.start();
  // It serves another queue and takes back whatever looks lost.
  auto others = w.options;
  others.queues = {{"elsewhere", {1, 0, {}, {}}}};
  server other(others);
  REQUIRE(other.start().ok());
  const auto first = w.enqueue("long");
  const auto second = w.enqueue("long");
  running.wait();
  const auto queued = w.enqueue("actor");

  for (int i = 0; i < 2; ++i) {
    const auto hog = w.spawn([&](event_based_actor*) -> behavior {
      return {[&](int) {
        busy.count_down();
        std::this_thread::sleep_for(10s);  // not a wait: the fault itself
        over.count_down();
      }};
    });
    caf::anon_send(hog, 1);
  }
  busy.wait();
  CHECK(w.get(first).state == job_state::processing);
  over.wait();
  release = true;
  release.notify_all();
  REQUIRE(w.becomes(first, job_state::succeeded));
  REQUIRE(w.becomes(second, job_state::succeeded));
  REQUIRE(w.becomes(queued, job_state::succeeded));
  CHECK(runs == 2);
  for (const auto& id : {first, second, queued}) {
    CHECK(w.get(id).losses == 0);
    CHECK(w.get(id).history.size() == 1);
  }
}

TEST_CASE("an embedded server stops when it is told by message, and is gone then") {
  host_world w;
  w.start();
  const auto handle = w.embedded->handle();
  caf::scoped_actor self{w.system};
  std::optional<std::uint32_t> unfinished;
  self->request(handle, 10s, stop_atom::value).receive([&](std::uint32_t n) { unfinished = n; }, [](caf::error&) {});
  CHECK(unfinished == 0u);
  self->monitor(handle);
  self->receive([](const caf::down_msg&) {});
  const auto late = w.send_enqueue(w.job_of("late"));
  REQUIRE_FALSE(late.ok());
  CHECK(late.error().code == errc::not_running);
  w.embedded->stop();  // again: nothing
  CHECK(w.client->servers()->empty());
}

TEST_CASE("an embedded server cannot be stopped by its own handler, nor used once it was moved from") {
  host_world w;
  w.options.retry.attempts = 0;
  w.handlers.handle("own", [&](job_context&) { w.embedded->stop(); });
  w.start();
  const auto own = w.enqueue("own");
  REQUIRE(w.becomes(own, job_state::failed));
  CHECK(w.get(own).history.back().error.find("a handler cannot stop its own server") != std::string::npos);
  const auto moved = std::move(*w.embedded);
  CHECK_THROWS_AS(w.embedded->stop(), bad_result);
}

TEST_CASE("an exit message stops an embedded server as well") {
  host_world w;
  w.start();
  caf::anon_send_exit(w.embedded->handle(), caf::exit_reason::user_shutdown);
  CHECK(eventually([&] { return w.client->servers()->empty(); }));
}

TEST_CASE("a stop gives back what a host's actor has not answered, and only as the last act") {
  std::atomic<int> has{0};
  host_world w;
  w.options.grace = 50ms;
  handle_by_actor(w.handlers, "silent", w.spawn(silent(has)));
  w.start();
  const auto id = w.enqueue("silent");
  REQUIRE(eventually([&] { return has == 1; }));
  CHECK(w.embedded->stop().unfinished == 1);
  CHECK(w.get(id).state == job_state::processing);
  w.embedded->give_back_unfinished();
  CHECK(w.get(id).state == job_state::enqueued);
  CHECK(w.get(id).attempt == 0);
}

TEST_CASE("an embedded server may be started and stopped on threads that outlive the system") {
  std::latch go_home(1);
  std::thread starter, stopper;
  {
    std::latch started(1), stopped(1);
    host_world w;
    w.handlers.handle("noop", [](job_context&) {});
    starter = std::thread([&] {
      w.start();
      started.count_down();
      go_home.wait();
    });
    started.wait();
    const auto id = w.enqueue("noop");
    CHECK(w.becomes(id, job_state::succeeded));
    stopper = std::thread([&] {
      w.embedded->stop();
      stopped.count_down();
      go_home.wait();
    });
    stopped.wait();
  }  // the system ends here
  go_home.count_down();
  starter.join();
  stopper.join();
}

TEST_CASE("one host may spawn and stop servers again and again while jobs run") {
  host_world w;
  w.options.grace = 5s;
  handle_by_actor(w.handlers, "actor", w.spawn(counting));
  w.handlers.handle("function", [](job_context&) {});
  constexpr std::size_t cycles = 60, each = 20;
  for (std::size_t i = 0; i < cycles; ++i) {
    w.start();
    std::vector<new_job> batch;
    for (std::size_t n = 0; n < each; ++n)
      batch.push_back(w.job_of(n % 2 == 0 ? "actor" : "function"));
    for (const auto& stored : w.client->enqueue(std::move(batch)))
      REQUIRE(stored.ok());
    CHECK(w.embedded->stop().unfinished == 0);
    w.embedded.reset();
  }
  w.start();
  REQUIRE(eventually([&] { return w.counts().succeeded == cycles * each; }));
}

TEST_CASE("a server may go before its actors have begun, and while the host is too busy to let them") {
  host_world w;
  const auto spawn_and_go = [&] {
    auto gone = spawn_server(w.system, w.options, w.handlers);
    REQUIRE(gone.ok());
  };
  SECTION("at rest") {
    for (int i = 0; i < 200; ++i)
      spawn_and_go();
  }
  SECTION("busy") {
    struct hold {
      std::latch busy{2}, go_on{1};
    };
    const auto both = std::make_shared<hold>();  // a waiter may look at it once more when all are free
    for (int i = 0; i < 2; ++i)
      caf::anon_send(w.spawn([both](event_based_actor*) -> behavior {
        return {[both](int) {
          both->busy.count_down();
          both->go_on.wait();
        }};
      }),
                     1);
    both->busy.wait();
    spawn_and_go();
    both->go_on.count_down();
  }
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  CHECK(w.becomes(w.enqueue("noop"), job_state::succeeded));
}

TEST_CASE("an error that a living actor passes on is a failed run, and its type goes on") {
  host_world w;
  w.options.retry.attempts = 0;
  const auto dead = w.system.spawn([](event_based_actor* self) { self->quit(); });
  const auto dispatcher = w.spawn([dead](event_based_actor* self) -> behavior {
    return {[self, dead](const run_job& run) {
      auto promise = self->make_response_promise();
      if (run.args() == "2") {
        promise.deliver(std::string("by myself"));
      } else {
        self->request(dead, caf::infinite, run)
            .then([](const std::string&) {}, [promise](caf::error& e) mutable { promise.deliver(e); });
      }
      return promise;
    }};
  });
  handle_by_actor(w.handlers, "mine", dispatcher);
  w.start();
  const auto passed_on = w.enqueue("mine", "1");
  const auto own = w.enqueue("mine", "2");
  REQUIRE(w.becomes(passed_on, job_state::failed));
  CHECK(w.get(passed_on).history.back().cause == "failed");
  CHECK(w.becomes(own, job_state::succeeded));
}

TEST_CASE("what a host has asked is answered, though the server stops or its actor is killed") {
  std::atomic<int> asked{0}, answered{0};
  host_world w;
  w.start();
  const auto handle = w.embedded->handle();
  const auto producer = w.spawn([&, handle](event_based_actor* self) -> behavior {
    return {[&, self, handle](int) {
      for (int i = 0; i < 200; ++i) {
        ++asked;
        new_job job;
        job.type = job_type("later");
        const auto count = [&](const job_id&) { ++answered; };
        self->request(handle, caf::infinite, enqueue_atom::value, job).then(count, [&](caf::error&) { ++answered; });
      }
    }};
  });
  for (int i = 0; i < 10; ++i)
    caf::anon_send(producer, 1);
  SECTION("stopped") { w.embedded->stop(); }
  SECTION("killed") { caf::anon_send_exit(handle, caf::exit_reason::kill); }
  CHECK(eventually([&] { return asked == 2'000 && answered == 2'000; }));
  CHECK(eventually([&] { return w.client->servers()->empty(); }));
}

TEST_CASE("each observer of a job is told once of its end, whoever watched before it was there") {
  host_world w;
  told_ends first_ends;
  const auto first =
      w.spawn([&](event_based_actor*) -> behavior { return {[&](const job_ended& end) { first_ends.add(end); }}; });
  w.handlers.handle("noop", [](job_context&) {});
  w.start();
  auto job = w.job_of("noop");
  for (int i = 0; i < 50; ++i) {
    job.id = job_id("job" + std::to_string(i));
    caf::anon_send(w.embedded->handle(), watch_atom::value, job.id, first);
    REQUIRE(w.send_enqueue(job, true).ok());
  }
  REQUIRE(eventually([&] { return w.ends.size() == 50 && first_ends.size() == 50; }));
  w.embedded->stop();  // everything is told by then
  for (const auto& end : w.ends.all()) {
    CHECK(end.known);
    CHECK(end.about.state == job_state::succeeded);
  }
  CHECK(w.ends.size() == 50);
  CHECK(first_ends.size() == 50);
}

TEST_CASE("observers of what ends while the server stops are told of it") {
  std::latch running(2);
  host_world w;
  w.options.grace = 5s;
  w.handlers.handle("until_stopped", [&](job_context& job) {
    running.count_down();
    while (!job.stop_requested())
      std::this_thread::yield();
  });
  w.start();
  REQUIRE(w.send_enqueue(w.job_of("until_stopped"), true).ok());
  REQUIRE(w.send_enqueue(w.job_of("until_stopped"), true).ok());
  running.wait();
  CHECK(w.embedded->stop().unfinished == 0);
  CHECK(eventually([&] { return w.ends.size() == 2; }));
}

TEST_CASE("a server with a system of its own refuses handlers that are actors of another") {
  host_world w;
  handle_by_actor(w.handlers, "actor", w.spawn(counting));
  server own(w.options, w.handlers);
  const auto refused = own.start();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("spawn_server") != std::string::npos);
}

}  // namespace sluice::test
