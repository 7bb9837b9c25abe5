// What becomes of permits and lines whose values somebody harmed; and of those in a Redis without memory.
#include "storage/contract.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

template <class Answer, class Request>
Answer asked(world& w, Request r) {
  return w.ask<Answer>(std::move(r));
}

job started_one(world& w, const std::string& id) {
  REQUIRE(put(w, {.id = id}) == errc::none);
  return claim_one(w);
}
admission take_one(world& w, const job& j, const names& permits, bool strict = false) {
  return asked<storage::acquire_permits_answer>(w,
                                                storage::acquire_permits_request{{{run_of(j), permits, strict, true}}})
      .each.at(0)
      .what;
}

storage::throttler_answer about(world& w, const std::string& resource) {
  return asked<storage::throttler_answer>(w, storage::throttler_request{resource, 200});
}

// One job has m, another waits for it.
job one_of_two(world& w) {
  auto has = started_one(w, "has");
  REQUIRE(take_one(w, has, {m}) == admission::granted);
  REQUIRE(take_one(w, started_one(w, "waits"), {m}) == admission::parked);
  return has;
}

}  // namespace

TEMPLATE_TEST_CASE("A permit is not lost with an admission that cannot be read", "[contract]", harmed_file_world,
                   harmed_redis_world) {
  TestType w;
  const auto has = one_of_two(w);
  w.command({"HSET", "admission", "has", "something else"});
  CHECK(w.store().audit().value() == names{"job has has an admission that cannot be read"});
  REQUIRE(settle(w, has) == errc::none);
  CHECK(about(w, m).holders.at(0).id.value == "waits");
  CHECK(w.store().audit()->empty());
}

TEMPLATE_TEST_CASE("A waiter with an admission that cannot be read leaves its line when it is deleted", "[contract]",
                   harmed_file_world, harmed_redis_world) {
  TestType w;
  one_of_two(w);
  w.command({"HSET", "admission", "waits", "1 2 3"});
  CHECK_FALSE(w.store().audit()->empty());
  CHECK(get(w, "waits").state == job_state::throttled);
  REQUIRE(remove(w, "waits").code == errc::none);
  CHECK(about(w, m).waiters.empty());
  CHECK(w.store().audit()->empty());
}

TEMPLATE_TEST_CASE("A permit that a claim took is not lost with a run that cannot be read", "[contract]",
                   harmed_file_world, harmed_redis_world) {
  TestType w;
  put_all(w, {"has", "waits"});
  const claim_words words{.free = 2, .permits = {{"work", {{m}}}}};
  REQUIRE(ids(claim(w, words)) == names{"has"});
  w.command({"HSET", "runs", "has", "something else"});
  CHECK_FALSE(w.store().audit()->empty());
  REQUIRE(remove(w, "has").code == errc::none);
  CHECK(in_words(about(w, m).holders) == names{"waits reserved"});
  CHECK(w.store().audit()->empty());
}

TEMPLATE_TEST_CASE("The audit tells of permits that were taken and are not counted so", "[contract]", harmed_file_world,
                   harmed_redis_world) {
  TestType w;
  put_all(w, {"has"});
  REQUIRE(ids(claim(w, {.permits = {{"work", {{m}}}}})) == names{"has"});
  REQUIRE(w.store().audit()->empty());
  const names harm =
      GENERATE(names{"HSET", "claim_permits", m, "2"}, names{"HDEL", "claim_permits", m}, names{"ZREM", "busy", m},
               names{"HSET", "claim_permits", "mutex:other", "1"}, names{"HDEL", "runs", "has"});
  INFO(harm[0] << ' ' << harm[1] << ' ' << harm[2]);
  w.command(harm);
  CHECK_FALSE(w.store().audit()->empty());
}

TEMPLATE_TEST_CASE("The audit tells of permits and lines that do not agree", "[contract]", harmed_file_world,
                   harmed_redis_world) {
  TestType w;
  one_of_two(w);
  REQUIRE(w.store().audit()->empty());
  const names harm = GENERATE(
      names{"HSET", "holders:" + m, "nobody", "held 1 1"}, names{"HDEL", "holders:" + m, "has"},
      names{"HSET", "holders:" + m, "has", "reserved 0 1"}, names{"HDEL", "admission", "waits"},
      names{"HDEL", "admission", "has"}, names{"ZREM", "busy", m}, names{"ZADD", "busy", "0", "mutex:free"},
      names{"ZREM", "waiting", m}, names{"ZADD", "waiting", "0", "mutex:free"}, names{"SREM", "waits:" + m, "default"},
      names{"SADD", "waits:" + m, "elsewhere"}, names{"ZREM", "wait:default/" + m, "waits"},
      names{"ZREM", "throttled:default", "waits"}, names{"ZADD", "wait:default/mutex:free", "1", "waits"},
      names{"ZADD", "reserved", "1", "7:" + m + "has"});
  INFO(harm[0] << ' ' << harm[1] << ' ' << harm[2]);
  w.command(harm);
  CHECK_FALSE(w.store().audit()->empty());
}

TEST_CASE("When Redis is full, permits are still taken, waited for and passed on", "[redis]") {
  struct holder {
    redis_server server;
  };
  struct full_world : holder, world {
    full_world() : world(server.url()) {}
  } w;
  const auto has = one_of_two(w);
  const auto third = started_one(w, "third");
  w.server.command({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(take_one(w, third, {m}) == admission::parked);
  REQUIRE(settle(w, has) == errc::none);
  CHECK(about(w, m).holders.at(0).id.value == "waits");
  const auto next = claim_one(w);
  CHECK(take_one(w, next, {m, "mutex:n"}) == admission::granted);
  REQUIRE(settle(w, next) == errc::none);
  CHECK(about(w, m).holders.at(0).id.value == "third");
  w.server.command({"CONFIG", "SET", "maxmemory", "0"});
  audit(w);
}

TEMPLATE_TEST_CASE("What nobody limits any more is woken bit by bit", "[contract]", harmed_file_world,
                   harmed_redis_world) {
  TestType w;
  const auto define = [&](std::uint64_t permits) {
    asked<storage::define_answer>(
        w, storage::define_request{"semaphore:s", cat("{\"limit\":", permits, "}"), permits, ""});
  };
  define(1);
  storage::enqueue_request jobs;
  for (int i = 0; i < 1'200; ++i)
    jobs.jobs.push_back(prepared({.id = "j" + std::to_string(i)}));
  ask(w, jobs);
  storage::acquire_permits_request wants;
  for (const auto& j : jobs_of(claim(w, {.free = 1'200})))
    wants.runs.push_back({run_of(j), {"semaphore:s"}});
  REQUIRE(wants.runs.size() == 1'200);
  const auto told = asked<storage::acquire_permits_answer>(w, wants);
  CHECK(told.each[0].what == admission::granted);
  CHECK(told.each[1'199].what == admission::parked);
  define(storage::unlimited_permits);
  CHECK(about(w, "semaphore:s").about.waiting == 199);
  const auto roused = asked<storage::reconcile_answer>(w, storage::reconcile_request{});
  CHECK(roused.woken == 199);
  CHECK(roused.next.empty());
  audit(w);
}
