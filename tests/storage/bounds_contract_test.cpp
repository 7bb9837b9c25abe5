// Whatever stands in a store, a step over it comes to an end: bytes that nobody of us wrote make no loop without one.
#include "storage/contract.hpp"
#include "storage/named_value.hpp"
#include "storage/raw_store.hpp"
#include "support/measure.hpp"

using namespace sluice;
using namespace sluice::test;

#define ON_HARMED_STORES(name) TEMPLATE_TEST_CASE(name, "[contract]", harmed_file_world, harmed_redis_world)

ON_HARMED_STORES("Suspects in a main line make way for those behind them") {
  TestType w;
  names suspects;
  std::vector<names> harms;
  suspects.reserve(1'200);
  harms.reserve(1'200);
  for (int i = 0; i < 1'200; ++i) {  // more than one claim looks at
    suspects.push_back(cat("s", i));
    harms.push_back({"HSET", "history", suspects.back(), "2 2 0 0 0 0:0:0:"});
  }
  put_all(w, suspects);
  put_all(w, {"behind"});
  w.commands(harms);
  names got;
  for (int i = 0; i < 3 && got.empty(); ++i)
    got = ids(claim(w, {.free = 5}));
  CHECK(got == names{"behind"});
  CHECK(w.store().audit().value() == names{});
  CHECK(ids(claim(w, {.free = 2, .allow_suspect = true})) == names{"s0"});
}

ON_HARMED_STORES("Pages of jobs go on behind scores that nobody wrote") {
  TestType w;
  names all;
  for (const auto* score : {"-inf", "-1e300", "-1", "0.25", "0.5", "9007199254740993", "1e300", "inf"}) {
    all.push_back(cat("at:", all.size()));
    REQUIRE(put(w, {.id = all.back(), .delay = 1h}) == errc::none);
    w.command({"ZADD", "scheduled:default", score, all.back()});
  }
  job_query query;
  query.limit = 1;
  names listed;
  for (int pages = 0; pages < 20; ++pages) {
    const auto page = w.template ask<storage::list_answer>(storage::list_request{query}).page;
    for (const auto& j : page.jobs)
      listed.push_back(j.id.value);
    query.after = page.next;
    if (query.after.empty()) break;
  }
  CHECK(listed == all);
}

ON_HARMED_STORES("A claim finds the line of its type among thousands") {
  TestType w;
  REQUIRE(put(w, {.id = "a", .type = "other"}) == errc::none);
  REQUIRE(claim(w).jobs.empty());
  std::vector<names> harms;
  harms.reserve(3'000);
  for (int i = 0; i < 3'000; ++i)
    harms.push_back({"SADD", "types:default", cat("type", i)});
  w.commands(harms);
  CHECK(ids(claim(w, {.free = 5, .types = "work other"})) == names{"a"});
}

ON_HARMED_STORES("A last claim that cannot be read keeps nobody from the next") {
  TestType w;
  put_all(w, {"a", "b"});
  claim_one(w);
  w.command({"HSET", "claims", "0 7:defaults1", "soon"});
  CHECK(ids(claim(w)) == names{"b"});
}

ON_HARMED_STORES("A count of claims that is no number is made anew") {
  TestType w;
  const std::string count = GENERATE("nonsense", "", "-3", "1.5", "99999999999999999999", "9223372036854775807");
  CAPTURE(count);
  put_all(w, {"a", "b"});
  const claim_words words{.permits = {{"work", {{"mutex:m"}}}}};
  const auto a = claim_one(w, words);
  w.command({"HSET", "claim_permits", "mutex:m", count});
  CHECK(ids(claim(w, words)).empty());  // it is held still
  CHECK(settle(w, a) == errc::none);
  CHECK(ids(claim(w, words)) == names{"b"});
  audit(w);
}

ON_HARMED_STORES("A limit that is no number lets nobody in") {
  TestType w;
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  const auto a = started(w, "a");
  w.command({"HSET", "limits", "semaphore:s", GENERATE("0x10", "1e9", "-1", " 1", "")});
  CHECK(take(w, a, {"semaphore:s"}).starts_with("parked "));
}

ON_HARMED_STORES("Scores that are no instants are waited for no longer than any") {
  TestType w;
  const std::string score = GENERATE("1e300", "inf");
  constexpr auto longest = std::chrono::microseconds(std::int64_t{1} << 52);
  REQUIRE(put(w, {.id = "later", .delay = 1h}) == errc::none);
  started(w, "runs");
  w.command({"ZADD", "scheduled:default", score, "later"});
  w.command({"ZADD", "due", score, "default"});
  w.command({"ZADD", "processing:default", score, "runs"});
  w.command({"HSET", "schedules", "s", schedule_value(1)});
  w.command({"ZADD", "firing", score, "s"});
  const auto promoted = promote(w);
  CHECK(promoted.next_in == longest);
  CHECK(promoted.schedule_in == longest);
  CHECK(expired(w).next_in == longest);
  CHECK(w.template ask<storage::due_answer>(storage::due_request{}).next_in == longest);
}

ON_HARMED_STORES("A schedule with runs without number is changed at once") {
  TestType w;
  auto runs = nlohmann::json::array();
  for (int i = 0; i < 50'000; ++i)
    runs.push_back({{"id", "no such job"}, {"at", 1}});
  w.command({"HSET", "schedules", "s", schedule_value(7, runs)});
  storage::update_schedule_request r;
  r.name = "s";
  r.version = 7;
  r.record = "record";
  r.next_at = w.clock.now() + 1min;
  r.overlap = overlap_rule::skip;
  r.enqueue.push_back({w.clock.now(), prepared({.id = "a"})});
  const auto from = std::chrono::steady_clock::now();
  CHECK(w.template ask<storage::update_schedule_answer>(r).updated);
  CHECK(seconds_since(from) < 2);
  CHECK(get(w, "a").state == job_state::enqueued);
}
