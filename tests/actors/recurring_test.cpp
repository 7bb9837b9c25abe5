// Recurring jobs on a running server, on each store.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "actors/host_world.hpp"
#include "actors/server_world.hpp"
#include "core/text.hpp"
#include "storage/shared_store.hpp"
#include "support/catch.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

struct on_sqlite {
  server_world w;
};
struct on_redis {
  redis_server redis;
  server_world w{redis.url()};
};

recurring every(const std::string& name, duration interval) {
  recurring r;
  r.name = name;
  r.job = job_type("work");
  r.every = interval;
  r.stagger = stagger_rule::off;
  return r;
}

recurring_status status(client& c, const std::string& name) {
  const auto all = c.recurring_jobs();
  if (all)
    for (const auto& one : *all)
      if (one.name == name) return one;
  return {};
}

// The occurrences of the jobs that ran.
struct seen_occurrences {
  std::mutex mutex;
  std::vector<std::string> all;
  void note(const job_context& c) {
    const auto at = c.headers().find(occurrence_header);
    std::lock_guard hold(mutex);
    all.push_back(at == c.headers().end() ? "by hand" : at->second);
  }
  std::size_t count() {
    std::lock_guard hold(mutex);
    return all.size();
  }
};

}  // namespace

TEMPLATE_TEST_CASE("a schedule that is set while a server runs fires at its instants", "", on_sqlite, on_redis) {
  seen_occurrences seen;
  TestType on;
  auto& w = on.w;
  w.options.sweep_interval = 1min;  // nothing but timers and hints
  w.handlers.handle("work", [&](job_context& c) { seen.note(c); });
  w.start();
  REQUIRE(w.client->set_recurring(every("s", 1s)).ok());
  REQUIRE(eventually([&] { return seen.count() >= 3; }));
  std::lock_guard hold(seen.mutex);
  for (std::size_t i = 0; i < seen.all.size(); ++i) {
    CHECK(seen.all[i].ends_with(".000Z"));
    if (i > 0) CHECK(seen.all[i] > seen.all[i - 1]);
  }
}

TEMPLATE_TEST_CASE("schedules of a configuration run and are pruned on request", "", on_sqlite, on_redis) {
  seen_occurrences seen;
  TestType on;
  auto& w = on.w;
  w.handlers.handle("work", [&](job_context& c) { seen.note(c); });
  w.options.recurring = {every("a", 1s), every("b", 24h)};
  w.start();
  REQUIRE(eventually([&] { return seen.count() >= 1; }));
  const auto a = status(*w.client, "a");
  CHECK(a.next_at.has_value());
  CHECK(a.last_job.value.starts_with("a:"));
  w.server->stop();
  w.options.recurring = {every("b", 24h)};
  w.start();
  CHECK(status(*w.client, "a").name == "a");
  w.server->stop();
  w.options.prune_recurring = true;
  w.start();
  CHECK(status(*w.client, "a").name.empty());
  CHECK(status(*w.client, "b").name == "b");
}

TEMPLATE_TEST_CASE("a client pauses resumes triggers and removes a schedule", "", on_sqlite, on_redis) {
  seen_occurrences seen;
  TestType on;
  auto& w = on.w;
  w.handlers.handle("work", [&](job_context& c) { seen.note(c); });
  w.start();
  auto& c = *w.client;
  REQUIRE(c.set_recurring(every("s", 24h)).ok());
  CHECK(status(c, "s").next_at.has_value());
  REQUIRE(c.pause_recurring("s").ok());
  CHECK_FALSE(status(c, "s").next_at.has_value());
  const auto id = c.trigger_recurring("s");
  REQUIRE(id.ok());
  CHECK(c.wait(*id, 10s)->state == job_state::succeeded);
  CHECK(status(c, "s").last_job == *id);
  for (int i = 0; i < 2; ++i)  // again with the same id is the same job
    CHECK(c.trigger_recurring("s", job_id("by-hand")).value() == job_id("by-hand"));
  CHECK(c.wait(job_id("by-hand"), 10s)->state == job_state::succeeded);
  CHECK(c.trigger_recurring("s", job_id("by-hand")).ok());
  CHECK(c.get(job_id("by-hand"))->history.size() == 1);
  auto other = every("other", 24h);
  other.args = "{\"else\":1}";
  REQUIRE(c.set_recurring(other).ok());
  CHECK(c.trigger_recurring("other", job_id("by-hand")).error().code == errc::id_conflict);
  REQUIRE(c.remove_recurring("other").ok());
  REQUIRE(c.resume_recurring("s").ok());
  CHECK(status(c, "s").next_at.has_value());
  REQUIRE(c.remove_recurring("s").ok());
  CHECK(c.remove_recurring("s").ok());
  CHECK(status(c, "s").name.empty());
  CHECK(c.pause_recurring("s").error().code == errc::not_found);
  CHECK(c.trigger_recurring("s").error().code == errc::not_found);
  CHECK(c.set_recurring(every("s", 1ms)).error().code == errc::invalid_argument);
}

TEST_CASE("a job that is triggered by hand goes where the configuration of its schedule puts its type") {
  on_sqlite on;
  auto& w = on.w;
  w.options.queues["apart"] = {};
  w.options.jobs["work"].queue = queue_name("apart");
  w.options.recurring = {every("s", 24h)};
  w.start();
  const auto id = w.client->trigger_recurring("s");  // a client without these options
  REQUIRE(id.ok());
  CHECK(w.client->get(*id)->queue.value == "apart");
}

TEST_CASE("a clock set an hour ahead and two hours back fires nothing twice and loses no live lease") {
  struct moved_clock final : clock {
    std::atomic<std::int64_t> by_us{0};
    time_point now() const override { return system_clock().now() + duration(by_us.load()); }
  };
  const auto time = std::make_shared<moved_clock>();
  const auto store = storage::open_shared_store("sqlite::memory:moved_clock", time);
  REQUIRE(store.ok());
  std::atomic<bool> go{false};
  seen_occurrences seen;
  server_world w("sqlite::memory:moved_clock");
  w.handlers.handle("work", [&](job_context& c) { seen.note(c); });
  w.handlers.handle("long", [&](job_context&) { go.wait(false); });
  w.options.lease = 2s;
  w.options.queues = {{"default", {2, 0, {}, {}}}};
  w.start();
  const auto running = w.enqueue("long");
  REQUIRE(w.becomes(running, job_state::processing));
  REQUIRE(w.client->set_recurring(every("s", 1s)).ok());
  REQUIRE(eventually([&] { return seen.count() >= 2; }));

  time->by_us = duration(1h).count();
  const auto before = seen.count();
  REQUIRE(eventually([&] { return seen.count() >= before + 3; }));
  time->by_us = -duration(1h).count();
  const auto furthest = format_time(system_clock().now() + 1h);
  const auto back = std::chrono::steady_clock::now();
  REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > back + 6s; }));  // three leases
  const auto there = w.get(running);
  CHECK(there.state == job_state::processing);
  CHECK(there.losses == 0);
  go = true;
  go.notify_all();
  REQUIRE(w.becomes(running, job_state::succeeded));
  CHECK(w.get(running).attempt == 1);
  std::lock_guard hold(seen.mutex);
  CHECK(std::set<std::string>(seen.all.begin(), seen.all.end()).size() == seen.all.size());
  // None of the time that the clock shows again, and none that it had not reached.
  const auto [first, last] = std::minmax_element(seen.all.begin(), seen.all.end());
  CHECK(*first == seen.all.front());
  CHECK(*last <= furthest);
}

TEST_CASE("an enqueue filter that refuses an occurrence is told with the schedule") {
  struct refuse final : filter {
    result<void> on_enqueue(new_job&) override { return error{errc::refused, "not today"}; }
  };
  server_world w;
  w.filters.push_back({std::make_shared<refuse>()});
  w.options.recurring = {every("s", 1s)};
  w.start();
  REQUIRE(eventually([&] { return status(*w.client, "s").problem.find("not today") != std::string::npos; }));
  CHECK(w.counts().enqueued == 0);
}

TEST_CASE("an actor of the host sets pauses triggers lists and removes schedules by message") {
  host_world w;
  w.start();
  caf::scoped_actor self{w.system};
  const auto facade = w.embedded->handle();
  const auto timeout = std::chrono::seconds(10);
  const auto failed = [&](const caf::error& e) { FAIL(to_string(error_of(e))); };
  self->request(facade, timeout, schedule_atom::value, every("s", 24h))
      .receive([&](const recurring_status& s) { CHECK(s.next_at.has_value()); }, failed);
  self->request(facade, timeout, pause_schedule_atom::value, std::string("s"), true)
      .receive([&](const recurring_status& s) { CHECK(s.paused); }, failed);
  job_id triggered;
  self->request(facade, timeout, trigger_schedule_atom::value, std::string("s"))
      .receive([&](const job_id& id) { triggered = id; }, failed);
  CHECK_FALSE(triggered.empty());
  self->request(facade, timeout, schedule_atom::value)
      .receive(
          [&](const std::vector<recurring_status>& all) {
            REQUIRE(all.size() == 1);
            CHECK(all[0].last_job == triggered);
          },
          failed);
  self->request(facade, timeout, remove_schedule_atom::value, std::string("s"))
      .receive([&](bool there) { CHECK(there); }, failed);
  self->request(facade, timeout, remove_schedule_atom::value, std::string("s"))
      .receive([&](bool there) { CHECK_FALSE(there); }, failed);
  self->request(facade, timeout, pause_schedule_atom::value, std::string("s"), true)
      .receive([&](const recurring_status&) { FAIL("there is none"); },
               [&](const caf::error& e) {
                 CHECK(error_of(e).code == errc::not_found);
                 CHECK(error_of(e).message == "there is no schedule s; there is none yet");
                 CHECK(error_of(e).subject == error_subject::schedule);
               });
}

}  // namespace sluice::test
