// Who asks the store when somebody got work.
#include "actors/server_world.hpp"
#include "core/pipeline.hpp"
#include "support/catch.hpp"
#include "support/counted_server.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

constexpr int queues = 50;
constexpr int rounds = 60;

std::string queue_of(int n) { return "q" + std::to_string(n % queues); }

// A world whose server hears of work by hints only.
struct hints_world : server_world {
  std::atomic<int> runs{0};

  explicit hints_world(const std::string& url = {}) : server_world(url) {
    handlers.handle("count", [&](job_context&) { ++runs; });
    options.queues.clear();
    options.sweep_interval = 1min;
  }
  void serve_many() {
    for (int i = 0; i < queues; ++i)
      options.queues[queue_of(i)] = {1, 0, {}, {}};
  }
};

void put_here(counted_server& s, const std::string& queue) {
  new_job j;
  j.type = job_type("count");
  j.queue = queue_name(queue);
  const enqueue_pipeline pipeline({}, {});
  auto ready = pipeline.prepare(std::move(j), s.shared_store().now());
  REQUIRE(ready);
  storage::enqueue_request r;
  r.jobs.push_back(std::move(*ready));
  const auto told = s.shared_store().call({std::move(r)}, std::chrono::steady_clock::now() + 10s);
  REQUIRE(std::holds_alternative<storage::enqueue_answer>(told.at(0)));
}

// Enqueues by `put` into one queue, each job when the one before has run, and answers what others than it claimed in
// the second half: until then each has asked for the first time.
template <class Put>
std::uint64_t claims_of_idle(hints_world& w, const counted_server& s, const Put& put) {
  std::uint64_t before = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i == rounds / 2) {
      REQUIRE(eventually([&] { return s.asked->claims().size() == queues; }, 20s));
      before = s.asked->claims_but_of("q7");
    }
    put();
    REQUIRE(eventually([&] { return w.runs == i + 1; }, 20s));
  }
  return s.asked->claims_but_of("q7") - before;
}

}  // namespace

TEST_CASE("an enqueue into one of 50 queues makes no claim of any other") {
  hints_world w;
  w.serve_many();
  counted_server s(w.options, w.handlers);
  CHECK(claims_of_idle(w, s, [&] { put_here(s, "q7"); }) == 0);
}

TEST_CASE("an enqueue of another process into a file is followed by one look at 50 queues") {
  hints_world w;
  w.serve_many();
  counted_server s(w.options, w.handlers);
  CHECK(claims_of_idle(w, s, [&] { w.enqueue("count", "{}", "q7"); }) == 0);
  CHECK(s.asked->looks() > 0);
}

TEST_CASE("a server on Redis claims for those queues only that another process named", "[redis]") {
  redis_server redis;
  hints_world w(redis.url());
  w.serve_many();
  counted_server s(w.options, w.handlers);
  CHECK(claims_of_idle(w, s, [&] { w.enqueue("count", "{}", "q7"); }) == 0);
}

TEST_CASE("a pattern takes up a new queue from the hint that names it and asks for no counts") {
  hints_world w;
  w.options.queues["mail-*"] = {1, 0, {}, {}};
  counted_server s(w.options, w.handlers);
  put_here(s, "mail-a");
  REQUIRE(eventually([&] { return w.runs == 1; }, 20s));
  w.enqueue("count", "{}", "mail-b");  // as another process does
  REQUIRE(eventually([&] { return w.runs == 2; }, 20s));
  CHECK(s.asked->counts() == 0);
}

TEST_CASE("a pool of a pattern ends when there was no work for a while and is made anew for the next job") {
  hints_world w;
  w.options.queues["mail-*"] = {2, 0, {}, {}};
  w.options.sweep_interval = 100ms;
  actors::server_context* server = nullptr;
  counted_server s(w.options, w.handlers, {}, [&](actors::server_context& made) {
    server = &made;
    made.queues.pool_lasts = 300ms;
  });
  const auto has_pool = [&](const char* queue) { return server->queues.dispatcher_of(queue) != nullptr; };
  for (int i = 1; i <= 5; ++i) {
    w.enqueue("count", "{}", "mail-a");
    REQUIRE(eventually([&] { return w.runs == i; }, 20s));
    REQUIRE(eventually([&] { return !has_pool("mail-a"); }, 20s));
    CHECK(server->queues.served() == std::vector<std::string>{"mail-a:2"});  // for those that wait for a permit, too
  }
  w.enqueue("count", "{}", "mail-a", 400ms);
  CHECK(eventually([&] { return w.runs == 6; }, 20s));
}

TEST_CASE("a hint that names a queue which the store does not have makes no pool", "[redis]") {
  redis_server redis;
  hints_world w(redis.url());
  w.options.queues["mail-*"] = {1, 0, {}, {}};
  actors::server_context* server = nullptr;
  counted_server s(w.options, w.handlers, {}, [&](actors::server_context& made) { server = &made; });
  w.enqueue("count", "{}", "mail-a");
  REQUIRE(eventually([&] { return w.runs == 1; }, 20s));
  redis.command({"PUBLISH", "{sluice}:work", "you mail-b mail-c"});
  w.enqueue("count", "{}", "mail-d");
  REQUIRE(eventually([&] { return w.runs == 2; }, 20s));
  CHECK(server->queues.names() == std::vector<std::string>{"mail-a", "mail-d"});
  CHECK_FALSE(redis.command({"SISMEMBER", "{sluice}:queues", "mail-b"}).integer);
}

TEST_CASE("a delayed job is moved when it is due and its queue alone claims it") {
  hints_world w;
  w.serve_many();
  counted_server s(w.options, w.handlers);
  CHECK(claims_of_idle(w, s, [&] { w.enqueue("count", "{}", "q7", 20ms); }) == 0);
}

}  // namespace sluice::test
