// Whose handler runs is told that its job was cancelled.
#include <atomic>
#include <mutex>

#include "actors/server_world.hpp"
#include "support/catch.hpp"
#include "support/counted_server.hpp"
#include "support/gated_store.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

// Cancels as another process does, which this one hears of by a hint alone.
void cancel_elsewhere(const server_world& w, const job_id& id) {
  auto other = storage::open_store(w.options.storage);
  REQUIRE(other);
  const storage::request r = storage::change_jobs_request{storage::job_change::cancel, {id}, {}, {"anna", "elsewhere"}};
  const auto told = (*other)->apply({&r, 1}).at(0);
  REQUIRE(std::get<storage::change_jobs_answer>(told).each.at(0).code == errc::none);
}

// No hint of another process comes through it.
class deaf_store final : public passing_store {
public:
  using passing_store::passing_store;
  std::unique_ptr<storage::watch> watch_others(std::function<void(const storage::hint&)>) override { return nullptr; }
};
std::unique_ptr<storage::store> deaf(std::unique_ptr<storage::store> in) {
  return std::make_unique<deaf_store>(std::move(in));
}

// Handlers that wait until they are asked to stop, and note why they were and how often.
struct cancel_world : server_world {
  ~cancel_world() { server.reset(); }  // before what its handlers note
  std::atomic<int> running{0}, calls{0};
  std::mutex mutex;
  std::vector<stop_reason> reasons;

  explicit cancel_world(const std::string& url = {}) : server_world(url) {
    handlers.handle("waits", [this](job_context& c) {
      wait_for_stop(c);
      c.throw_if_stop_requested();
    });
    handlers.handle("fails", [this](job_context& c) {
      wait_for_stop(c);
      throw std::runtime_error("not finished");
    });
    handlers.handle("finishes", [this](job_context& c) {
      wait_for_stop(c);
      return "done";
    });
  }
  void wait_for_stop(job_context& c) {
    std::atomic<bool> asked = false;
    const std::stop_callback tell(c.stop(), [&] {
      ++calls;
      asked = true;
      asked.notify_all();
    });
    ++running;
    asked.wait(false);
    const std::lock_guard hold(mutex);
    reasons.push_back(c.stop_reason());
  }
  job_id begin(const std::string& type) {
    const auto before = running.load();
    const auto id = enqueue(type);
    REQUIRE(eventually([&] { return running == before + 1; }));
    return id;
  }
};

}  // namespace

TEST_CASE("can-9 a handler is told by a hint that its job was cancelled and why, once", "[redis]") {
  const bool on_redis = GENERATE(false, true);
  std::optional<redis_server> redis;
  if (on_redis) redis.emplace();
  cancel_world w(redis ? redis->url() : std::string());
  w.options.lease = 10min;  // nothing is renewed in time otherwise
  w.start();
  const auto id = w.begin("waits");
  const auto asked = std::chrono::steady_clock::now();
  cancel_elsewhere(w, id);
  REQUIRE(w.becomes(id, job_state::deleted));
  const auto took = std::chrono::steady_clock::now() - asked;
  INFO(std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms");
  CHECK(took < 20s);  // the next renewal is minutes away
  const auto ended = w.get(id);
  CHECK(ended.reason == "cancelled by anna through elsewhere");
  CHECK(ended.history.back().cause == "cancelled");
  CHECK(w.reasons == std::vector{stop_reason::cancelled});
  CHECK(w.calls == 1);
  w.server->stop();
}

TEST_CASE("can-9 the cancels of one call are told by one hint", "[redis]") {
  const redis_server redis;
  cancel_world w(redis.url());
  w.options.lease = 10min;
  w.start();
  const auto hints = [&] {
    return std::stoull(redis.info("cmdstat_publish").substr(std::string_view("calls=").size()));
  };
  const std::vector ids{w.begin("waits"), w.begin("waits")};
  const auto before = hints();
  auto with_another = ids;
  with_another.emplace_back("nobody");
  CHECK(w.client->cancel(with_another).back().error().code == errc::not_found);
  for (const auto& id : ids)
    CHECK(w.becomes(id, job_state::deleted));
  const auto after = hints();
  CHECK(after == before + 1);
  for (const auto& told : w.client->cancel(ids))  // none of which runs
    CHECK(told.value() == cancel_result::was_deleted);
  CHECK(hints() == after);
  w.server->stop();
}

TEST_CASE("can-9 a handler is told by a client of its own process", "[sqlite]") {
  cancel_world w;
  w.options.lease = 10min;
  w.start();
  const auto id = w.begin("waits");
  REQUIRE(w.client->cancel(id));
  REQUIRE(w.client->cancel(id));
  CHECK(w.becomes(id, job_state::deleted));
  CHECK(w.reasons == std::vector{stop_reason::cancelled});
  const auto late = w.client->cancel(id);
  CHECK(late.ok());
  w.server->stop();
}

TEST_CASE("can-9 where the hint is lost the next renewal tells") {
  cancel_world w;
  w.options.lease = 2s;
  counted_server s(w.options, w.handlers, deaf);
  const auto id = w.begin("waits");
  cancel_elsewhere(w, id);
  CHECK(w.becomes(id, job_state::deleted));
  CHECK(w.reasons == std::vector{stop_reason::cancelled});
}

TEST_CASE("can-9 where the hint is lost a report of progress tells") {
  std::atomic<bool> go{false};
  cancel_world w;
  w.options.lease = 10min;
  w.handlers.handle("reports", [&](job_context& c) {
    ++w.running;
    go.wait(false);
    c.progress(0.5);
    w.wait_for_stop(c);
  });
  counted_server s(w.options, w.handlers, deaf);
  const auto id = w.begin("reports");
  cancel_elsewhere(w, id);
  go = true;
  go.notify_all();
  CHECK(w.becomes(id, job_state::succeeded));  // as its handler says
  CHECK(w.reasons == std::vector{stop_reason::cancelled});
}

TEST_CASE("can-1 a cancelled handler that fails is not retried and can-2 one that finishes has succeeded") {
  cancel_world w;
  w.options.lease = 10min;
  w.start();
  const auto fails = w.begin("fails"), finishes = w.begin("finishes");
  REQUIRE(w.client->cancel(std::vector{fails, finishes}).at(1));
  CHECK(w.becomes(fails, job_state::deleted));
  CHECK(w.get(fails).history.back().error == "not finished");
  CHECK(w.becomes(finishes, job_state::succeeded));
  CHECK(w.get(finishes).result == "done");
  w.server->stop();
}

TEST_CASE("can-1 a cancelled job that waits for a worker of its server does not begin") {
  std::atomic<int> began{0};
  cancel_world w;
  w.options.lease = 10min;
  w.options.queues["default"].workers = 1;
  w.handlers.handle("second", [&](job_context&) { ++began; });
  w.start();
  for (int i = 0; i < 40; ++i)  // so quick that its server claims ahead
    w.enqueue("second");
  REQUIRE(eventually([&] { return began == 40; }));
  std::vector<new_job> both(2);
  both[0].type = "waits";
  both[1].type = "second";
  const auto stored = w.client->enqueue(std::move(both));
  const auto first = *stored[0], second = *stored[1];
  REQUIRE(w.becomes(second, job_state::processing));
  REQUIRE(w.client->cancel(second));
  CHECK(w.becomes(second, job_state::deleted));
  CHECK(w.get(first).state == job_state::processing);
  REQUIRE(w.client->cancel(first));
  CHECK(w.becomes(first, job_state::deleted));
  CHECK(began == 40);
  w.server->stop();
}

TEST_CASE("can-8 a cancelled handler that goes on has its timeout and is replaced after it") {
  std::atomic<bool> go{false};
  std::atomic<int> running{0};
  std::atomic<stop_reason> why{stop_reason::none};
  server_world w;
  w.options.lease = 10min;
  w.options.queues["default"].workers = 1;
  w.options.jobs["stuck"].timeout = 300ms;
  w.handlers.handle("stuck", [&](job_context& c) {
    ++running;
    go.wait(false);
    why = c.stop_reason();
  });
  w.handlers.handle("next", [](job_context&) {});
  w.start();
  const auto id = w.enqueue("stuck");
  REQUIRE(eventually([&] { return running == 1; }));
  REQUIRE(w.client->cancel(id));
  const auto next = w.enqueue("next");
  CHECK(w.becomes(id, job_state::deleted));
  CHECK(w.get(id).reason == "cancelled by hand");
  CHECK(w.becomes(next, job_state::succeeded));
  go = true;
  go.notify_all();
  CHECK(eventually([&] { return why == stop_reason::cancelled; }));  // the first reason stands
  w.server->stop();
}

TEST_CASE("a stop has a reason for each way to be asked") {
  cancel_world w;
  w.options.lease = 2s;
  w.options.jobs["fails"].timeout = 50ms;
  w.options.jobs["fails"].retry.attempts = 0;
  w.start();
  w.begin("fails");
  REQUIRE(eventually([&] { return w.calls == 1; }));
  const auto removed = w.begin("waits");
  REQUIRE(w.client->remove(removed));
  REQUIRE(eventually([&] { return w.calls == 2; }));
  w.begin("waits");
  w.server->stop();
  const std::lock_guard hold(w.mutex);
  CHECK(w.reasons == std::vector{stop_reason::timeout, stop_reason::lost, stop_reason::shutdown});
}

TEST_CASE("of cancels that come together one renewal is on its way and one behind it") {
  gate g;  // before the engine, whose runner ends last
  way_in way;
  server_world w;
  w.options.lease = 10min;
  w.handlers.handle("work", [](job_context&) {});
  const auto shared_store = std::make_shared<storage::shared_store>(std::make_unique<gated_store>(g));
  auto opened = actors::open_server_context(w.options, w.handlers, {});
  REQUIRE(opened);
  const auto e = *opened;
  e->use_store(shared_store);
  e->keeper = std::make_shared<execution::lease_keeper>(e, [](const auto&, fence) {});
  auto run = std::make_shared<execution::claimed_run>();
  run->about.id = job_id("held");
  run->about.type = job_type("work");
  run->about.fence.value = 1;
  e->queue("default", w.options.queues.at("default")).pool->lock()->hold({run});
  g.set(false);
  e->keeper->look_for_cancels();
  g.wait_entered(1);
  for (int i = 0; i < 50; ++i)
    e->keeper->look_for_cancels();
  g.set(true);
  g.wait_entered(2);
  e->keeper->look_for_cancels();
  g.wait_entered(3);
  CHECK(g.batches == std::vector<std::size_t>(3, 1));
  e->keeper->halt();
}

}  // namespace sluice::test
