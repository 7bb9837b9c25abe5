// What storage/locks.hpp promises.
#include "storage/contract.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string printer = "the printer";
const lock_words by_a = {.holder = "a"};
const lock_words by_b = {.holder = "b"};

storage::prune_answer prune(world& w, std::uint32_t limit = 1000) {
  storage::prune_request r;
  r.limit = limit;
  return ask(w, r);
}

}  // namespace

ON_EACH_STORE("A lock is held by one and the others are told by whom and until when") {
  const auto fence = lock(w, printer, by_a);
  w.clock.advance(10s);
  const auto refused = take_lock(w, printer, by_b);
  CHECK(refused.code == errc::lock_held);
  REQUIRE(refused.now.has_value());
  CHECK(refused.now->holder == "a");
  CHECK(refused.now->fence == fence);
  CHECK(refused.now->until == w.clock.now() + 20s);
  CHECK(refused.now->left == 20s);
  CHECK(lock(w, "the scanner", by_b) > fence);
  audit(w);
}

ON_EACH_STORE("Locks that are held are listed by their ends, page by page") {
  lock(w, "over", by_a);
  w.clock.advance(10s);
  for (const auto* resource : {"b", "a", "c"})
    lock(w, resource, by_b);
  lock(w, "first", {.holder = "b", .lease = 21s});
  lock(w, "then", {.holder = "b", .lease = 22s});
  w.clock.advance(20s);
  names listed;
  storage::locks_request r{1, {}};
  do {
    const auto page = w.ask<storage::locks_answer>(r).page;
    for (const auto& one : page.locks) {
      listed.push_back(one.resource);
      CHECK(one.now.holder == "b");
      CHECK(one.now.fence.value > 0);
      CHECK(one.now.until == w.clock.now() + one.now.left);
      CHECK(one.now.left == (one.resource == "first" ? 1s : 8s));
    }
    if (r.after.empty()) w.clock.advance(2s);  // who is "then" ends between two pages
    r.after = page.next;
  } while (!r.after.empty());
  CHECK(listed == names{"first", "a", "b", "c"});
  r.after = "c";
  CHECK(refusal(w, r) == errc::invalid_argument);
}

ON_EACH_STORE("Taking a lock again by the same token is the same lock, by another it is refused") {
  const auto first = taking(printer, by_a);
  const auto got = ask(w, first);
  CHECK(in_words(ask(w, first).now) == in_words(got.now));
  CHECK(ask(w, first).code == errc::none);
  CHECK(take_lock(w, printer, by_a).code == errc::lock_held);
}

ON_EACH_STORE("A lock ends with its lease and the next who takes it has a higher fence") {
  const auto old = lock(w, printer, by_a);
  w.clock.advance(30s - 1us);
  CHECK(take_lock(w, printer, by_b).code == errc::lock_held);
  w.clock.advance(1us);
  CHECK(who_holds(w, printer) == "free");
  const auto next = lock(w, printer, by_b);
  CHECK(next > old);
  const auto before = who_holds(w, printer);
  CHECK(ask(w, renewing(printer, old)).code == errc::stale_fence);
  CHECK(ask(w, releasing(printer, old)).code == errc::stale_fence);
  CHECK(who_holds(w, printer) == before);
  audit(w);
}

ON_EACH_STORE("Renewing holds a lock for another lease from now") {
  const auto fence = lock(w, printer, by_a);
  w.clock.advance(20s);
  const auto told = ask(w, renewing(printer, fence, 40s));
  CHECK(told.code == errc::none);
  REQUIRE(told.now.has_value());
  CHECK(told.now->until == w.clock.now() + 40s);
  w.clock.advance(39s);
  CHECK(take_lock(w, printer, by_b).code == errc::lock_held);
  SECTION("also when the lease is over and nobody has taken it") {
    w.clock.advance(1h);
    CHECK(ask(w, renewing(printer, fence)).code == errc::none);
    CHECK(take_lock(w, printer, by_b).code == errc::lock_held);
  }
  audit(w);
}

ON_EACH_STORE("A released lock is free at once and releasing it again changes nothing") {
  const auto old = lock(w, printer, by_a);
  CHECK(ask(w, releasing(printer, old)).code == errc::none);
  CHECK(ask(w, releasing(printer, old)).code == errc::none);
  CHECK(ask(w, renewing(printer, old)).code == errc::stale_fence);
  CHECK(who_holds(w, printer) == "free");
  CHECK(lock(w, printer, by_b) > old);
  CHECK(ask(w, releasing(printer, old)).code == errc::stale_fence);
  CHECK_FALSE(who_holds(w, printer) == "free");
  audit(w);
}

ON_EACH_STORE("Fence 0 holds no lock") {
  CHECK(ask(w, renewing(printer, fence{0})).code == errc::stale_fence);
  CHECK(ask(w, releasing(printer, fence{0})).code == errc::none);
  lock(w, printer, by_a);
  CHECK(ask(w, renewing(printer, fence{0})).code == errc::stale_fence);
  CHECK(ask(w, releasing(printer, fence{0})).code == errc::stale_fence);
}

ON_EACH_STORE_AND_FILE("Fences of locks and of runs grow together") {
  std::uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    const auto held = lock(w, printer, by_a);
    CHECK(held.value > last);
    CHECK(ask(w, releasing(printer, held)).code == errc::none);
    const auto running = started(w, cat("job", i));
    CHECK(running.fence > held);
    last = running.fence.value;
  }
  if (w.survives_reopen) {
    w.clock.advance(-1h);
    w.reopen();
    CHECK(lock(w, printer, by_a).value > last);
  }
  audit(w);
}

ON_EACH_STORE("A clock that was set back holds no lock for longer than its lease from the next question on") {
  const auto fence = lock(w, printer, by_a);
  w.clock.advance(-1h);
  const auto refused = take_lock(w, printer, by_b);
  CHECK(refused.code == errc::lock_held);
  REQUIRE(refused.now.has_value());
  CHECK(refused.now->left == 30s);
  CHECK(ask(w, renewing(printer, fence)).code == errc::none);
  w.clock.advance(30s);
  CHECK(lock(w, printer, by_b) > fence);
}

ON_EACH_STORE(
    "A clock that was set an hour ahead takes no lock from a holder who renews it also when prune was first") {
  const auto fence = lock(w, printer, by_a);
  w.clock.advance(1h);
  prune(w, 2);
  CHECK(ask(w, renewing(printer, fence)).code == errc::none);
  CHECK(take_lock(w, printer, by_b).code == errc::lock_held);
  audit(w);
}

ON_EACH_STORE("Prune forgets locks whose lease has been over for a day and no others") {
  std::vector<fence> old;
  for (int i = 0; i < 3; ++i)
    old.push_back(lock(w, cat("lock ", i), by_a));
  w.clock.advance(24h + 20s);
  lock(w, printer, by_a);
  w.clock.advance(10s);
  CHECK(prune(w, 2).more);
  CHECK_FALSE(prune(w, 2).more);
  for (int i = 0; i < 3; ++i)
    CHECK(ask(w, renewing(cat("lock ", i), old[static_cast<std::size_t>(i)])).code == errc::stale_fence);
  CHECK_FALSE(who_holds(w, printer) == "free");
  audit(w);
}

ON_EACH_STORE("Locks are told apart byte by byte and may be called anything") {
  const std::string odd = "10:a b \xc3\xa4'{}\"/*";
  lock(w, odd, {.holder = "7:x y 1"});
  CHECK(take_lock(w, odd, by_b).now->holder == "7:x y 1");
  lock(w, "A", by_a);
  lock(w, "a", by_b);
  lock(w, std::string(200, 'x'), by_b);
  audit(w);
}

ON_EACH_STORE("Of those who take a lock in one commit the first has it") {
  std::vector<storage::request> all = {taking(printer, by_a), taking(printer, by_b)};
  const auto told = w.store().apply(all);
  const auto& first = std::get<storage::lock_answer>(told.at(0));
  const auto& second = std::get<storage::lock_answer>(told.at(1));
  CHECK(first.code == errc::none);
  CHECK(second.code == errc::lock_held);
  CHECK(second.now->fence == first.now->fence);
}

TEMPLATE_TEST_CASE("What is held survives that the store is closed", "[contract]", sqlite_file_world, redis_world) {
  TestType w;
  const auto fence = lock(w, printer, by_a);
  const auto before = who_holds(w, printer);
  w.reopen();
  CHECK(who_holds(w, printer) == before);
  CHECK(ask(w, renewing(printer, fence)).code == errc::none);
}

TEMPLATE_TEST_CASE("A lock that cannot be read is held until its lease is over and taken then", "[contract]",
                   harmed_file_world, harmed_redis_world) {
  TestType w;
  const auto old = lock(w, printer, by_a);
  w.command({"HSET", "locks", printer, "something else"});
  CHECK_FALSE(w.store().audit()->empty());
  CHECK(take_lock(w, printer, by_b).code == errc::lock_held);
  CHECK(ask(w, renewing(printer, old)).code == errc::stale_fence);
  CHECK(ask(w, releasing(printer, fence{0})).code == errc::stale_fence);
  w.clock.advance(30s);
  CHECK(lock(w, printer, by_b) > old);
  audit(w);
}

TEMPLATE_TEST_CASE("The audit tells of locks without an end and of ends without a lock", "[contract]",
                   harmed_file_world, harmed_redis_world) {
  TestType w;
  lock(w, printer, by_a);
  REQUIRE(w.store().audit()->empty());
  const names harm = GENERATE(names{"ZREM", "lock_ends", printer}, names{"HDEL", "locks", printer},
                              names{"HSET", "locks", printer, "9007199254740990 1 1:xa"});
  w.command(harm);
  CHECK_FALSE(w.store().audit()->empty());
}

TEST_CASE("When Redis is full no lock is taken but those that are held are renewed and released", "[redis]") {
  struct holder {
    redis_server server;
  };
  struct full_world : holder, world {
    full_world() : world(server.url()) {}
  } w;
  const auto fence = lock(w, printer, by_a);
  w.server.command({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(refusal(w, taking("the scanner", by_b)) == errc::storage_full);
  CHECK(refusal(w, taking(printer, by_b)) == errc::storage_full);
  CHECK(who_holds(w, printer) != "free");
  CHECK(ask(w, renewing(printer, fence)).code == errc::none);
  CHECK(ask(w, releasing(printer, fence)).code == errc::none);
  w.server.command({"CONFIG", "SET", "maxmemory", "0"});
  CHECK(who_holds(w, "the scanner") == "free");
  audit(w);
}

TEST_CASE("Asking Redis for a lock is one command of the network however it goes", "[redis]") {
  redis_world w;
  const auto calls = [&] {
    const auto text = redis_world::server().command({"INFO", "commandstats"}).text;
    const std::string mark = "cmdstat_fcall:calls=";
    return std::stoull(text.substr(text.find(mark) + mark.size()));
  };
  const auto before = calls();
  const auto fence = lock(w, printer, by_a);
  CHECK(take_lock(w, printer, by_b).code == errc::lock_held);
  CHECK(ask(w, renewing(printer, fence)).code == errc::none);
  CHECK(ask(w, releasing(printer, fence)).code == errc::none);
  CHECK(calls() - before == 4);
}
