// What happens because time passed: scheduled jobs become due, old ones are removed.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

storage::prune_answer prune(world& w, const retention_rule& succeeded, std::uint32_t limit = 1000) {
  storage::prune_request r;
  r.retention = {succeeded, {}, {}};
  r.limit = limit;
  return ask(w, r);
}

// Runs jobs of these ids to their ends, a second apart.
void finish(world& w, const names& all, how end = how::succeeded, const std::string& queue = "default") {
  for (const auto& id : all) {
    REQUIRE(put(w, {.id = id, .queue = queue}) == errc::none);
    REQUIRE(settle(w, claim_one(w, {.queue = queue}), end) == errc::none);
    w.clock.advance(1s);
  }
}

names kept(world& w) {
  auto all = ids(list(w));
  std::sort(all.begin(), all.end());
  return all;
}

names known_servers(world& w) {
  names found;
  for (const auto& s : servers(w))
    found.push_back(s.id.value);
  return found;
}

server_info named(const std::string& id) {
  server_info info;
  info.id.value = id;
  info.name = id;
  return info;
}

}  // namespace

ON_EACH_STORE("Due jobs are promoted oldest first, whatever their queue") {
  REQUIRE(put(w, {.id = "c", .delay = 30s}) == errc::none);
  REQUIRE(put(w, {.id = "a", .delay = 10s}) == errc::none);
  REQUIRE(put(w, {.id = "b", .queue = "other", .delay = 20s}) == errc::none);
  REQUIRE(put(w, {.id = "d", .delay = 1h}) == errc::none);
  w.clock.advance(30s);
  CHECK(promote(w, 2).moved == 2);
  CHECK(w.store().made_work());
  CHECK(get(w, "a").state == job_state::enqueued);
  CHECK(get(w, "b").state == job_state::enqueued);
  CHECK(get(w, "c").state == job_state::scheduled);
  CHECK(promote(w).moved == 1);
  CHECK(ids(claim(w, {.free = 9})) == names{"a", "c"});
  CHECK(ids(claim(w, {.free = 9, .queue = "other"})) == names{"b"});
  CHECK(get(w, "d").state == job_state::scheduled);
  audit(w);
}

ON_EACH_STORE("A promotion takes the oldest however they are spread over queues") {
  // Of ten queues the first holds the twenty oldest, and each other one a job of every later second.
  names expected;
  for (int i = 0; i < 20; ++i) {
    expected.push_back(cat("q0.", 100 + i));
    REQUIRE(put(w, {.id = expected.back(), .queue = "q0", .delay = 1s + i * 1ms}) == errc::none);
  }
  for (int i = 0; i < 5; ++i)
    for (int q = 1; q < 10; ++q) {
      expected.push_back(cat("q", q, ".", 100 + i));
      REQUIRE(put(w, {.id = expected.back(), .queue = cat("q", q), .delay = 2s + i * 1s + q * 1ms}) == errc::none);
    }
  w.clock.advance(1min);
  const std::uint32_t limit = GENERATE(1, 7, 19, 30, 1000);
  CAPTURE(limit);
  for (std::size_t from = 0; from < expected.size(); from += limit) {
    const auto n = std::min<std::size_t>(limit, expected.size() - from);
    CHECK(promote(w, limit).moved == n);
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK((get(w, expected[i]).state == job_state::enqueued) == (i < from + n));
  }
  audit(w);
}

ON_EACH_STORE("A promotion tells when the next is due") {
  CHECK_FALSE(promote(w).next_in.has_value());
  REQUIRE(put(w, {.id = "b", .queue = "other", .delay = 20s}) == errc::none);
  REQUIRE(put(w, {.id = "a", .delay = 10s}) == errc::none);
  REQUIRE(put(w, {.id = "a2", .delay = 10s}) == errc::none);
  CHECK(promote(w).next_in == duration(10s));
  CHECK_FALSE(w.store().made_work());
  w.clock.advance(10s - 1us);
  CHECK(promote(w).moved == 0);
  CHECK(promote(w).next_in == duration(1us));
  w.clock.advance(1us);
  auto told = promote(w, 1);
  CHECK(told.moved == 1);
  CHECK(told.next_in == duration(0));  // more are due now
  told = promote(w, 1);
  CHECK(told.moved == 1);
  CHECK(told.next_in == duration(10s));
  w.clock.advance(1h);
  CHECK(promote(w).moved == 1);
  CHECK_FALSE(promote(w).next_in.has_value());
  audit(w);
}

ON_EACH_STORE("A promoted job stands behind those that waited already") {
  REQUIRE(put(w, {.id = "later", .delay = 1s}) == errc::none);
  put_all(w, {"a"});
  w.clock.advance(1s);
  put_all(w, {"b"});
  REQUIRE(promote(w).moved == 1);
  put_all(w, {"c"});
  CHECK(ids(claim(w, {.free = 9})) == names{"a", "b", "later", "c"});
}

ON_EACH_STORE("A job in a paused queue is promoted and not started") {
  REQUIRE(put(w, {.id = "a", .delay = 1s}) == errc::none);
  pause(w, "default");
  w.clock.advance(1s);
  CHECK(promote(w).moved == 1);
  CHECK(claim(w).jobs.empty());
  audit(w);
}

ON_EACH_STORE("Final jobs are pruned when they are older than they may be") {
  finish(w, {"a", "b"});
  finish(w, {"c"}, how::succeeded, "other");
  w.clock.advance(7s);  // they ended 10, 9 and 8 seconds ago
  CHECK(prune(w, {duration(10s), {}}).removed == 0);
  CHECK(prune(w, {duration(10s - 1us), {}}).removed == 1);
  CHECK(kept(w) == names{"b", "c"});
  const auto told = prune(w, {duration(1s), {}});
  CHECK(told.removed == 2);
  CHECK_FALSE(told.more);
  CHECK(kept(w).empty());
  CHECK(look(w, "a").code == errc::not_found);
  audit(w);
}

ON_EACH_STORE("Final jobs are pruned oldest first when they are too many, over all queues") {
  finish(w, {"a"});
  finish(w, {"b"}, how::succeeded, "other");
  finish(w, {"c"});
  finish(w, {"d"}, how::succeeded, "other");
  finish(w, {"f"}, how::failed);
  CHECK(prune(w, {{}, 4}).removed == 0);
  CHECK(prune(w, {{}, 3}).removed == 1);
  CHECK(kept(w) == names{"b", "c", "d", "f"});
  CHECK(prune(w, {{}, 1}).removed == 2);
  CHECK(kept(w) == names{"d", "f"});
  CHECK(prune(w, {{}, 0}).removed == 1);
  CHECK(kept(w) == names{"f"});
  audit(w);
}

ON_EACH_STORE("Whatever of age and number is exceeded first removes") {
  finish(w, {"a", "b", "c", "d"});  // 4, 3, 2 and 1 seconds ago
  SECTION("the number") { CHECK(prune(w, {duration(4s), 2}).removed == 2); }
  SECTION("the age") { CHECK(prune(w, {duration(2s), 3}).removed == 2); }
  CHECK(kept(w) == names{"c", "d"});
  audit(w);
}

ON_EACH_STORE("Pruning goes on in steps and says whether more is to do") {
  finish(w, {"a", "b", "c", "d", "e"});
  auto told = prune(w, {{}, 0}, 2);
  CHECK(told.removed == 2);
  CHECK(told.more);
  CHECK(kept(w) == names{"c", "d", "e"});
  told = prune(w, {{}, 0}, 2);
  CHECK(told.more);
  told = prune(w, {{}, 0}, 2);
  CHECK(told.removed == 1);
  CHECK_FALSE(told.more);
  audit(w);
}

ON_EACH_STORE("Each final state has its own rule, and a state without one is kept for ever") {
  finish(w, {"s"});
  finish(w, {"f"}, how::failed);
  finish(w, {"d"}, how::removed);
  put_all(w, {"waits"});
  REQUIRE(put(w, {.id = "later", .delay = 1h}) == errc::none);
  REQUIRE(put(w, {.id = "runs", .queue = "other"}) == errc::none);
  claim(w, {.queue = "other"});
  w.clock.advance(24h * 365);
  storage::prune_request r;
  r.retention = {{}, {}, {}};
  CHECK(ask(w, r).removed == 0);
  r.retention.failed = {duration(1h), {}};
  CHECK(ask(w, r).removed == 1);
  CHECK(kept(w) == names{"d", "later", "runs", "s", "waits"});
  r.retention.deleted = {{}, 0};
  CHECK(ask(w, r).removed == 1);
  r.retention.succeeded = {duration(1h), 100};
  CHECK(ask(w, r).removed == 1);
  CHECK(kept(w) == names{"later", "runs", "waits"});
  audit(w);
}

ON_EACH_STORE("A requeued job is no longer old") {
  finish(w, {"a"});
  w.clock.advance(1h);
  REQUIRE(requeue(w, "a").code == errc::none);
  CHECK(prune(w, {duration(1s), 0}).removed == 0);
  CHECK(ids(claim(w)) == names{"a"});
}

ON_EACH_STORE("The id of a pruned job is free again, and its old runs are refused") {
  put_all(w, {"a"});
  const auto old = claim_one(w);
  REQUIRE(settle(w, old) == errc::none);
  REQUIRE(prune(w, {{}, 0}).removed == 1);
  CHECK(settle(w, old, how::failed) == errc::stale_fence);
  REQUIRE(put(w, {.id = "a", .args = "[2]"}) == errc::none);
  CHECK(settle(w, old, how::failed) == errc::stale_fence);
  CHECK(renew(w, old) == errc::stale_fence);
  CHECK(claim_one(w).fence > old.fence);
  audit(w);
}

ON_EACH_STORE("Servers that have been silent too long are forgotten") {
  beat(w, named("old"));
  w.clock.advance(30s);
  beat(w, named("new"));
  storage::prune_request r;
  ask(w, r);  // an age of 0 keeps all
  CHECK(known_servers(w) == names{"new", "old"});
  r.server_age = 30s;
  ask(w, r);
  CHECK(known_servers(w) == names{"new", "old"});
  w.clock.advance(1us);
  ask(w, r);
  CHECK(known_servers(w) == names{"new"});
}

ON_EACH_STORE("Jobs that became due together are moved so many at a time and others are served between") {
  storage::enqueue_request r;
  for (int i = 0; i < 2'500; ++i)
    r.jobs.push_back(prepared({.id = cat("late", i), .delay = 1s}));
  for (const auto code : ask(w, r).each)
    REQUIRE(code == errc::none);
  w.clock.advance(1h);
  REQUIRE(put(w, {.id = "other", .queue = "other"}) == errc::none);
  for (const std::uint32_t expected : {1'000U, 1'000U, 500U}) {
    const auto told = promote(w);
    CHECK(told.moved == expected);
    CHECK(told.next_in.has_value() == (expected == 1'000));
    if (expected == 1'000) CHECK(told.next_in == duration(0));
    if (const auto got = claim(w, {.queue = "other"}); !got.jobs.empty()) CHECK(ids(got) == names{"other"});
  }
  CHECK(get(w, "other").state == job_state::processing);
  CHECK(promote(w).moved == 0);
  CHECK(counts(w).enqueued == 2'500);
  audit(w);
}
