// Permits: who has them, who waits for them in which line, and who gets them next.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string x = "mutex:x";
const std::string y = "mutex:y";

// So that the queue counts as served for a while.
void serve(world& w, const std::string& queue = "default") { beat(w, serving("server-of-" + queue, {queue + ":1"})); }

storage::promote_answer promote_after(world& w, duration reservation) {
  return w.ask<storage::promote_answer>(storage::promote_request{1000, reservation});
}

errc progress(world& w, const job& j) {
  return w.ask<storage::progress_answer>(storage::progress_request{{{run_of(j), {0.5, "page"}}}}).each.at(0);
}

// The next job, with what it has already.
struct claimed {
  job j;
  names admitted;
};
claimed claim_next(world& w, const std::string& queue = "default", bool allow_suspect = false) {
  auto got = claim(w, {.allow_suspect = allow_suspect, .queue = queue});
  REQUIRE(got.jobs.size() == 1);
  return {got.jobs[0].job, got.jobs[0].admitted};
}

// A job that waits for x and y is woken with one of them, since `gone` ends, and is parked in the line of the other
// one.
void wake_without_success(world& w, const job& gone, const std::string& had, const std::string& busy) {
  REQUIRE(settle(w, gone) == errc::none);
  const auto woken = claim_next(w);
  REQUIRE(woken.admitted == names{had});
  REQUIRE(take(w, woken.j, {x, y}) == "parked " + busy);
}

// "j" wants x and y, was woken three times for one of them only and so keeps x. It waits for y, which the answer has.
job keep_x(world& w) {
  const auto x1 = holding(w, "x1", {x});
  const auto y1 = holding(w, "y1", {y});
  parked(w, "j", {x, y});
  wake_without_success(w, x1, x, y);
  const auto x2 = holding(w, "x2", {x});
  wake_without_success(w, y1, y, x);
  auto y2 = holding(w, "y2", {y});
  wake_without_success(w, x2, x, y);
  return y2;
}

}  // namespace

ON_EACH_STORE("A mutex has one permit and needs no definition") {
  const auto a = started(w, "a");
  const auto began = w.clock.now();
  CHECK(take(w, a, {m}) == "granted");
  w.clock.advance(1s);
  const auto b = started(w, "b");
  CHECK(take(w, b, {m}) == "parked " + m);
  CHECK(holders(w, m) == names{"a"});
  CHECK(waiters(w, m) == names{"b"});
  const auto held = one_throttler(w, m).holders.at(0);
  CHECK(held.fence == a.fence);
  CHECK_FALSE(held.reserved);
  CHECK(held.since == began);
  CHECK(take(w, started(w, "c"), {"mutex:another"}) == "granted");
  audit(w);
}

ON_EACH_STORE("A semaphore has as many permits as its definition says") {
  const std::uint64_t limit = GENERATE(0u, 1u, 2u, 5u);
  REQUIRE(define(w, "semaphore:s", limit) == defined::added);
  for (std::uint64_t i = 0; i < limit; ++i)
    holding(w, cat("j", i), {"semaphore:s"});
  CHECK(take(w, started(w, "late"), {"semaphore:s"}) == "parked semaphore:s");
  CHECK(holders(w, "semaphore:s").size() == limit);
  audit(w);
}

ON_EACH_STORE("A semaphore without a limit admits everybody and knows its holders") {
  REQUIRE(define(w, "semaphore:s", storage::unlimited_permits) == defined::added);
  std::vector<job> all;
  for (int i = 0; i < 30; ++i)
    all.push_back(holding(w, cat("j", i), {"semaphore:s"}));
  CHECK(holders(w, "semaphore:s").size() == 30);
  REQUIRE(define(w, "semaphore:s", 29) == defined::changed);
  REQUIRE(settle(w, all[0]) == errc::none);
  CHECK(take(w, started(w, "late"), {"semaphore:s"}) == "parked semaphore:s");
  REQUIRE(define(w, "semaphore:s", storage::unlimited_permits) == defined::changed);
  CHECK(holders(w, "semaphore:s").back() == "late reserved");
  audit(w);
}

ON_EACH_STORE("Where no semaphore is defined nothing is taken and nothing changes") {
  const auto a = started(w, "a");
  const auto before = portrait(w);
  CHECK(take(w, a, {"semaphore:s"}) == "undefined semaphore:s");
  CHECK(take(w, a, {m, "semaphore:s"}) == "undefined semaphore:s");
  CHECK(take(w, a, {"semaphore:s"}, {.park = false}) == "undefined semaphore:s");
  CHECK(take(w, a, {"custom:s"}) == "undefined custom:s");
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  CHECK(holders(w, m).empty());
  CHECK(all_throttlers(w).empty());
  CHECK(settle(w, a) == errc::none);
  audit(w);
}

ON_EACH_STORE("A run gets all that it asks for or none") {
  const auto b = holding(w, "b", {"mutex:b"});
  const auto d = holding(w, "d", {"mutex:d"});
  CHECK(take(w, started(w, "all"), {"mutex:a", "mutex:b", "mutex:c", "mutex:d"}) == "parked mutex:b");
  for (const auto* free : {"mutex:a", "mutex:c"})
    CHECK(holders(w, free).empty());
  CHECK(waiters(w, "mutex:b") == names{"all"});
  CHECK(waiters(w, "mutex:d").empty());
  REQUIRE(settle(w, d) == errc::none);
  REQUIRE(settle(w, b) == errc::none);
  const auto all = claim_next(w);
  CHECK(all.admitted == names{"mutex:b"});
  CHECK(take(w, all.j, {"mutex:a", "mutex:b", "mutex:c", "mutex:d"}) == "granted");
  for (const auto* now : {"mutex:a", "mutex:b", "mutex:c", "mutex:d"})
    CHECK(holders(w, now) == names{"all"});
  REQUIRE(settle(w, all.j) == errc::none);
  CHECK(all_throttlers(w).empty());
  audit(w);
}

ON_EACH_STORE("Two jobs that name two permits in different order do not block each other") {
  const auto one = started(w, "one");
  const auto two = started(w, "two");
  CHECK(take(w, one, {x, y}) == "granted");
  CHECK(take(w, two, {y, x}).starts_with("parked "));
  REQUIRE(settle(w, one) == errc::none);
  const auto again = claim_next(w);
  CHECK(take(w, again.j, {y, x}) == "granted");
  CHECK(holders(w, x) == names{"two"});
  CHECK(holders(w, y) == names{"two"});
  REQUIRE(settle(w, again.j) == errc::none);
  audit(w);
}

ON_EACH_STORE_AND_FILE("Asking again is the same grant and counts once") {
  REQUIRE(define(w, "semaphore:s", 2) == defined::added);
  const auto a = holding(w, "a", {m, "semaphore:s"});
  const auto before = portrait(w);
  for (int i = 0; i < 3; ++i)
    CHECK(take(w, a, {m, "semaphore:s"}, {.park = i > 1}) == "granted");
  if (w.survives_reopen) w.reopen();
  CHECK(take(w, a, {m, "semaphore:s"}) == "granted");
  CHECK(portrait(w) == before);
  CHECK(holders(w, "semaphore:s") == names{"a"});
  CHECK(take(w, started(w, "b"), {"semaphore:s"}) == "granted");
  audit(w);
}

ON_EACH_STORE("Of many runs each is answered in its turn") {
  REQUIRE(define(w, "semaphore:s", 2) == defined::added);
  put_all(w, {"a", "b", "c", "d", "e"});
  const auto got = jobs_of(claim(w, {.free = 5}));
  REQUIRE(got.size() == 5);
  auto nobody = got[4];
  nobody.id.value = "nobody";
  CHECK(take_all(w, {wanting(got[0], {"semaphore:s"}), wanting(got[1], {m, "semaphore:s"}), wanting(nobody, {m}),
                     wanting(got[2], {"semaphore:s"}), wanting(got[3], {m}, {.park = false}),
                     wanting(got[4], {"semaphore:none"}), wanting(got[0], {"semaphore:s"}),
                     wanting(got[2], {"semaphore:s"})}) == names{"granted", "granted", "stale", "parked semaphore:s",
                                                                 "busy " + m, "undefined semaphore:none", "granted",
                                                                 "parked semaphore:s"});
  CHECK(holders(w, "semaphore:s") == names{"a", "b"});
  CHECK(waiters(w, "semaphore:s") == names{"c"});
  CHECK(waiters(w, m).empty());
  audit(w);
}

ON_EACH_STORE("Who asks for nothing is granted nothing") {
  const auto a = started(w, "a");
  const auto before = portrait(w);
  CHECK(take_all(w, {}).empty());
  CHECK(take(w, a, {}) == "granted");
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  CHECK(all_throttlers(w).empty());
  CHECK(reconcile(w) == 0);
  CHECK_FALSE(w.store().made_work());
  REQUIRE(settle(w, a) == errc::none);
  CHECK(take(w, a, {}) == "stale");
  audit(w);
}

ON_EACH_STORE("A run that is no more gets nothing") {
  auto old = started(w, "a");
  SECTION("settled") { REQUIRE(settle(w, old) == errc::none); }
  SECTION("given back") { REQUIRE(settle(w, old, how::given_back) == errc::none); }
  SECTION("lost") { lose_all(w); }
  SECTION("deleted by hand") { REQUIRE(remove(w, "a").code == errc::none); }
  SECTION("lost and claimed again") {
    lose_all(w);
    claim_one(w, {.allow_suspect = true});
  }
  SECTION("one that never was") { old.fence.value = 0; }
  const auto before = portrait(w);
  CHECK(take(w, old, {m}) == "stale");
  CHECK(take(w, old, {m}, {.strict = true}) == "stale");
  CHECK(take(w, old, {m}, {.park = false}) == "stale");
  CHECK(portrait(w) == before);
  CHECK(all_throttlers(w).empty());
  audit(w);
}

ON_EACH_STORE_AND_FILE("A parked job waits as throttled and has used no attempt") {
  holding(w, "a", {m});
  REQUIRE(put(w, {.id = "b"}) == errc::none);
  REQUIRE(settle(w, claim_one(w), how::retry) == errc::none);
  const auto second = claim_one(w);
  REQUIRE(second.attempt == 2);
  CHECK(take(w, second, {m}) == "parked " + m);
  CHECK_FALSE(w.store().made_work());
  const auto waits = get(w, "b");
  CHECK(waits.state == job_state::throttled);
  CHECK(waits.line == m);
  CHECK(waits.reason == "waits for " + m);
  CHECK(waits.attempt == 1);
  CHECK(waits.history.size() == 1);
  CHECK(waits.server.empty());
  CHECK(counts(w).throttled == 1);
  CHECK(claim(w, {.free = 9, .ahead = 9, .allow_suspect = true}).jobs.empty());
  audit(w);

  const auto before = portrait(w);
  CHECK(take(w, second, {m}) == "parked " + m);
  if (w.survives_reopen) w.reopen();
  CHECK(take(w, second, {m}) == "parked " + m);
  for (const auto end : {how::succeeded, how::failed, how::removed, how::retry, how::given_back})
    CHECK(settle(w, second, end) == errc::stale_fence);
  CHECK(renew(w, second) == errc::stale_fence);
  CHECK(progress(w, second) == errc::stale_fence);
  CHECK(reap(w, {{run_of(second), 0, 30s, false}}).each == std::vector{errc::stale_fence});
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  w.clock.advance(1h);
  CHECK(expired(w).leases.size() == 1);  // of the holder
  audit(w);
}

ON_EACH_STORE("Who must not be parked is told that it is busy and runs on") {
  const auto a = holding(w, "a", {m});
  const auto b = started(w, "b");
  const auto before = portrait(w);
  CHECK(take(w, b, {"mutex:free", m}, {.park = false}) == "busy " + m);
  CHECK(portrait(w) == before);
  CHECK(waiters(w, m).empty());
  CHECK(holders(w, "mutex:free").empty());
  REQUIRE(settle(w, a) == errc::none);
  CHECK(take(w, b, {"mutex:free", m}, {.park = false}) == "granted");
  CHECK(settle(w, b) == errc::none);
  CHECK(all_throttlers(w).empty());
  audit(w);
}

ON_EACH_STORE("However a run ends its permit goes to the oldest waiter") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m});
  parked(w, "c", {m});
  SECTION("settled") {
    const auto end = GENERATE(how::succeeded, how::failed, how::removed, how::retry, how::given_back);
    const auto delay = GENERATE(duration(0s), duration(1h));
    REQUIRE(settle(w, a, end, delay) == errc::none);
    CHECK(w.store().made_work());
    REQUIRE(settle(w, a, end, delay) == errc::none);  // asked again
  }
  SECTION("lost") {
    const auto losses = GENERATE(1u, 3u);  // failed at once, or not
    w.clock.advance(30s - 1us);
    serve(w);
    w.clock.advance(1us);
    CHECK(reap(w, expired(w).leases, losses).each == std::vector{errc::none});
  }
  SECTION("deleted by hand") { REQUIRE(remove(w, "a").code == errc::none); }
  const auto woken = get(w, "b");
  CHECK(woken.state == job_state::enqueued);
  CHECK(woken.line == "front");
  CHECK(woken.attempt == 0);
  CHECK(holders(w, m) == names{"b reserved"});
  CHECK(waiters(w, m) == names{"c"});
  CHECK(one_throttler(w, m).holders.at(0).fence == fence{0});
  audit(w);

  const auto got = claim(w, {.free = 9});
  const auto found =
      std::find_if(got.jobs.begin(), got.jobs.end(), [](const auto& one) { return one.job.id.value == "b"; });
  REQUIRE(found != got.jobs.end());
  const auto& b = found->job;
  CHECK(b.attempt == 1);
  CHECK(found->admitted == names{m});
  CHECK(holders(w, m) == names{"b"});
  CHECK(one_throttler(w, m).holders.at(0).fence == b.fence);
  CHECK(take(w, b, {m}) == "granted");
  CHECK(take(w, a, {m}) == "stale");
  REQUIRE(settle(w, b) == errc::none);
  CHECK(holders(w, m) == names{"c reserved"});
  audit(w);
}

ON_EACH_STORE("A woken job may start without asking again") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m});
  parked(w, "c", {m});
  REQUIRE(settle(w, a) == errc::none);
  REQUIRE(settle(w, claim_next(w).j) == errc::none);
  CHECK(holders(w, m) == names{"c reserved"});
  REQUIRE(settle(w, claim_next(w).j) == errc::none);
  CHECK(all_throttlers(w).empty());
  audit(w);
}

ON_EACH_STORE_AND_FILE("A claim tells for each job what it has already and tells it again") {
  const auto a = holding(w, "a", {m});
  const auto b = holding(w, "b", {x});
  parked(w, "c", {m});
  parked(w, "d", {x});
  put_all(w, {"e"});
  const storage::settle_request ends{{ended(a, how::succeeded), ended(b, how::succeeded)}, claiming({.free = 9})};
  const auto got = ask(w, ends);  // in the same step
  REQUIRE(got.each == std::vector{errc::none, errc::none});
  REQUIRE(ids(got.next) == names{"c", "d", "e"});
  CHECK(admitted(got.next) == std::vector<names>{{m}, {x}, {}});
  const auto before = portrait(w);
  if (w.survives_reopen) w.reopen();
  const auto again = ask(w, ends);
  CHECK(ids(again.next) == names{"c", "d", "e"});
  CHECK(admitted(again.next) == std::vector<names>{{m}, {x}, {}});
  CHECK(admitted(ask(w, *ends.next)) == std::vector<names>{{m}, {x}, {}});
  CHECK(portrait(w) == before);
  CHECK(holders(w, m) == names{"c"});
  audit(w);
}

ON_EACH_STORE("Of two permits that become free each wakes one") {
  REQUIRE(define(w, "semaphore:s", 3) == defined::added);
  std::vector<job> first;
  for (const auto* id : {"a", "b", "c"})
    first.push_back(holding(w, id, {"semaphore:s"}));
  for (const auto* id : {"d", "e", "f", "g"})
    parked(w, id, {"semaphore:s"});
  const auto told =
      ask(w, storage::settle_request{{ended(first[0], how::succeeded), ended(first[2], how::failed)}, {}});
  REQUIRE(told.each == std::vector{errc::none, errc::none});
  CHECK(holders(w, "semaphore:s") == names{"b", "d reserved", "e reserved"});
  CHECK(waiters(w, "semaphore:s") == names{"f", "g"});
  CHECK(ids(claim(w, {.free = 9})) == names{"d", "e"});
  audit(w);
}

ON_EACH_STORE("A higher limit wakes as many as it admits") {
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  holding(w, "a", {"semaphore:s"});
  for (const auto* id : {"b", "c", "d", "e", "f"})
    parked(w, id, {"semaphore:s"});
  REQUIRE(define(w, "semaphore:s", 4) == defined::changed);
  CHECK(w.store().made_work());
  CHECK(holders(w, "semaphore:s") == names{"a", "b reserved", "c reserved", "d reserved"});
  CHECK(waiters(w, "semaphore:s") == names{"e", "f"});
  const auto before = portrait(w);
  REQUIRE(define(w, "semaphore:s", 4) == defined::unchanged);
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  CHECK(ids(claim(w, {.free = 9})) == names{"b", "c", "d"});
  REQUIRE(define(w, "semaphore:s", 100) == defined::changed);
  CHECK(ids(claim(w, {.free = 9})) == names{"e", "f"});
  audit(w);
}

ON_EACH_STORE("Below a lowered limit nobody is admitted until it is met") {
  REQUIRE(define(w, "semaphore:s", 3) == defined::added);
  std::vector<job> first;
  for (const auto* id : {"a", "b", "c"})
    first.push_back(holding(w, id, {"semaphore:s"}));
  parked(w, "d", {"semaphore:s"});
  REQUIRE(define(w, "semaphore:s", 1) == defined::changed);
  CHECK(holders(w, "semaphore:s") == names{"a", "b", "c"});
  CHECK(take(w, first[1], {"semaphore:s"}) == "granted");  // it is the same grant
  REQUIRE(settle(w, first[0]) == errc::none);
  REQUIRE(settle(w, first[1]) == errc::none);
  CHECK(reconcile(w) == 0);
  CHECK(waiters(w, "semaphore:s") == names{"d"});
  CHECK(take(w, started(w, "e"), {"semaphore:s"}) == "parked semaphore:s");
  REQUIRE(settle(w, first[2]) == errc::none);
  CHECK(holders(w, "semaphore:s") == names{"d reserved"});
  CHECK(waiters(w, "semaphore:s") == names{"e"});
  audit(w);
}

ON_EACH_STORE("Nobody overtakes a job that was woken") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m});
  const auto c = started(w, "c");
  REQUIRE(settle(w, a) == errc::none);
  CHECK(take(w, c, {m}, {.park = false}) == "busy " + m);
  CHECK(take(w, c, {m}) == "parked " + m);
  CHECK(holders(w, m) == names{"b reserved"});
  const auto b = claim_next(w);
  CHECK(take(w, b.j, {m}) == "granted");
  audit(w);
}

ON_EACH_STORE("A line is served in the order of the first parking whatever the queues") {
  auto last = holding(w, "a", {m});
  std::vector<std::pair<std::string, std::string>> order;
  for (const auto* queue : {"q2", "q1", "q3", "q2", "default", "q1"}) {
    order.emplace_back(cat("j", order.size()), queue);
    parked(w, order.back().first, {m}, queue);
  }
  for (const auto& [id, queue] : order) {
    w.clock.advance(1s);
    REQUIRE(settle(w, last) == errc::none);
    CHECK(holders(w, m) == names{id + " reserved"});
    const auto next = claim_next(w, queue);
    CHECK(next.j.id.value == id);
    CHECK(next.admitted == names{m});
    last = next.j;
  }
  CHECK(waiters(w, m).empty());
  audit(w);
}

ON_EACH_STORE("Waiters of a paused queue are passed over and found when it goes on") {
  const auto a = holding(w, "a", {m}, {}, "q");
  parked(w, "b", {m});
  parked(w, "c", {m}, "q");
  pause(w, "default");
  REQUIRE(settle(w, a) == errc::none);
  CHECK(holders(w, m) == names{"c reserved"});
  CHECK(waiters(w, m) == names{"b"});
  REQUIRE(settle(w, claim_next(w, "q").j) == errc::none);
  CHECK(holders(w, m).empty());
  CHECK(reconcile(w) == 0);
  CHECK(get(w, "b").state == job_state::throttled);
  pause(w, "default", false);
  CHECK(w.store().made_work());
  reconcile(w);
  CHECK(holders(w, m) == names{"b reserved"});
  CHECK(reconcile(w) == 0);
  CHECK_FALSE(w.store().made_work());
  CHECK(claim_next(w).admitted == names{m});
  audit(w);
}

ON_EACH_STORE("Waiters of a queue that nobody serves are passed over and found when somebody does") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m}, "q");
  parked(w, "c", {m});
  w.clock.advance(storage::served_for + 1us);
  serve(w);
  REQUIRE(settle(w, a) == errc::none);
  CHECK(holders(w, m) == names{"c reserved"});
  CHECK(waiters(w, m) == names{"b"});
  REQUIRE(settle(w, claim_next(w).j) == errc::none);
  CHECK(reconcile(w) == 0);
  SECTION("by a claim") { REQUIRE(settle(w, started(w, "sign", "q")) == errc::none); }
  SECTION("by a beat") {
    beat(w, serving("s1", {"p:1", "qq:3"}));
    CHECK(reconcile(w) == 0);
    beat(w, serving("s2", {"p:1", "q:4"}));
  }
  CHECK(reconcile(w) == 1);
  CHECK(holders(w, m) == names{"b reserved"});
  CHECK(claim_next(w, "q").admitted == names{m});
  audit(w);
}

ON_EACH_STORE("A queue counts as served for half a minute") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m}, "q");
  SECTION("and is woken until then") {
    w.clock.advance(storage::served_for - 1us);
    REQUIRE(settle(w, a) == errc::none);
    CHECK(holders(w, m) == names{"b reserved"});
  }
  SECTION("and not after it") {
    w.clock.advance(storage::served_for + 1us);
    REQUIRE(settle(w, a) == errc::none);
    CHECK(holders(w, m).empty());
    CHECK(reconcile(w) == 0);
  }
  SECTION("from its last sign") {
    w.clock.advance(storage::served_for - 1s);
    REQUIRE(settle(w, started(w, "sign", "q")) == errc::none);
    w.clock.advance(storage::served_for - 1s);
    REQUIRE(settle(w, a) == errc::none);
    CHECK(holders(w, m) == names{"b reserved"});
  }
  SECTION("from its last beat too") {
    w.clock.advance(storage::served_for - 1s);
    beat(w, serving("s1", {"q:1"}));
    w.clock.advance(storage::served_for - 1s);
    REQUIRE(settle(w, a) == errc::none);
    CHECK(holders(w, m) == names{"b reserved"});
  }
  audit(w);
}

ON_EACH_STORE("Who was passed over has kept its place") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m}, "q");
  parked(w, "c", {m});
  parked(w, "d", {m});
  pause(w, "q");
  REQUIRE(settle(w, a) == errc::none);
  const auto c = claim_next(w);
  pause(w, "q", false);
  REQUIRE(settle(w, c.j) == errc::none);
  CHECK(holders(w, m) == names{"b reserved"});
  CHECK(waiters(w, m) == names{"d"});
  audit(w);
}

ON_EACH_STORE("Who comes when there is room goes behind those who could have it") {
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  const auto a = holding(w, "a", {"semaphore:s"});
  parked(w, "b", {"semaphore:s"}, "q");
  w.clock.advance(storage::served_for + 1us);
  REQUIRE(settle(w, a) == errc::none);
  REQUIRE(holders(w, "semaphore:s").empty());
  const auto c = started(w, "c");
  SECTION("and so it wakes them") {
    serve(w, "q");
    CHECK(take(w, c, {"semaphore:s"}) == "parked semaphore:s");
    CHECK(holders(w, "semaphore:s") == names{"b reserved"});
    CHECK(waiters(w, "semaphore:s") == names{"c"});
  }
  SECTION("and so it wakes them also when it must not be parked") {
    serve(w, "q");
    CHECK(take(w, c, {"semaphore:s"}, {.park = false}) == "busy semaphore:s");
    CHECK(get(w, "c").state == job_state::processing);
  }
  SECTION("and takes what they leave") {
    serve(w, "q");
    REQUIRE(define(w, "semaphore:s", 2) == defined::changed);
    CHECK(take(w, c, {"semaphore:s"}) == "granted");
    CHECK(holders(w, "semaphore:s") == names{"b reserved", "c"});
    CHECK(waiters(w, "semaphore:s").empty());
  }
  SECTION("and not behind those whose queue does not run") {
    CHECK(take(w, c, {"semaphore:s"}) == "granted");
    CHECK(waiters(w, "semaphore:s") == names{"b"});
  }
  audit(w);
}

ON_EACH_STORE("Many lines are roused page by page") {
  const std::uint32_t limit = GENERATE(1u, 2u, 3u, 1000u);
  std::vector<job> all;
  REQUIRE(define(w, "semaphore:s", 2) == defined::added);
  for (const names& wanted : {names{"mutex:1"}, {"mutex:2"}, {"semaphore:s"}, {"semaphore:s"}})
    all.push_back(holding(w, cat("a", all.size()), wanted));
  int n = 0;
  for (const names& wanted :
       {names{"mutex:1"}, {"mutex:2"}, {"semaphore:s"}, {"semaphore:s"}, {"semaphore:s"}, {"mutex:2"}})
    parked(w, cat("b", n++), wanted, "q");
  w.clock.advance(storage::served_for + 1us);
  for (const auto& j : all)
    REQUIRE(settle(w, j) == errc::none);
  serve(w, "q");
  CHECK(reconcile(w, limit) == 4);
  CHECK(reconcile(w, limit) == 0);
  CHECK(holders(w, "semaphore:s") == names{"b2 reserved", "b3 reserved"});
  CHECK(waiters(w, "semaphore:s") == names{"b4"});
  CHECK(waiters(w, "mutex:2") == names{"b5"});
  CHECK(claim(w, {.free = 9, .queue = "q"}).jobs.size() == 4);
  audit(w);
}

ON_EACH_STORE("A job that moves between lines keeps the number of the first") {
  const auto has_x = holding(w, "has-x", {x});
  const auto has_y = holding(w, "has-y", {y});
  parked(w, "old", {x, y});
  parked(w, "young", {y});
  wake_without_success(w, has_x, x, y);
  CHECK(waiters(w, y) == names{"old", "young"});
  CHECK(holders(w, x).empty());  // nothing is kept yet
  REQUIRE(settle(w, has_y) == errc::none);
  const auto old = claim_next(w);
  CHECK(old.j.id.value == "old");
  CHECK(take(w, old.j, {x, y}) == "granted");
  audit(w);
}

ON_EACH_STORE("A job that was admitted draws a new number when it waits again") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m});
  parked(w, "c", {m});
  REQUIRE(settle(w, a) == errc::none);
  const auto b = claim_next(w);
  REQUIRE(take(w, b.j, {m}) == "granted");
  REQUIRE(settle(w, b.j, how::retry) == errc::none);
  REQUIRE(holders(w, m) == names{"c reserved"});
  parked(w, "d", {m}, "q");  // while c has it and b is ready
  const auto c = claim_next(w);
  REQUIRE(c.j.id.value == "c");
  const auto again = claim_next(w);
  REQUIRE(again.j.id.value == "b");
  CHECK(again.admitted.empty());
  CHECK(take(w, again.j, {m}) == "parked " + m);
  CHECK(waiters(w, m) == names{"d", "b"});
  audit(w);
}

ON_EACH_STORE("A woken suspect is a suspect still") {
  put_suspect(w, "x");
  const auto a = holding(w, "a", {m});
  const auto suspect = claim_one(w, {.allow_suspect = true});
  REQUIRE(suspect.losses == 2);
  REQUIRE(take(w, suspect, {m}) == "parked " + m);
  CHECK(get(w, "x").losses == 2);
  REQUIRE(settle(w, a) == errc::none);
  CHECK(get(w, "x").line == "suspect");
  CHECK(holders(w, m) == names{"x reserved"});
  put_all(w, {"b"});
  CHECK(ids(claim(w, {.free = 9})) == names{"b"});
  const auto again = claim_next(w, "default", true);
  CHECK(again.j.id.value == "x");
  CHECK(again.admitted == names{m});
  audit(w);
}

ON_EACH_STORE("A job that waits for a permit is not requeued") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m});
  const auto before = portrait(w);
  const auto refused = requeue(w, "b");
  CHECK(refused.code == errc::illegal_transition);
  CHECK(refused.message.find("b") != std::string::npos);
  CHECK(refused.message.find(m) != std::string::npos);
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  REQUIRE(settle(w, a) == errc::none);
  CHECK(claim_next(w).admitted == names{m});
  audit(w);
}

ON_EACH_STORE("A deleted job leaves its line") {
  const auto a = holding(w, "a", {m});
  const auto old = parked(w, "b", {m});
  parked(w, "c", {m});
  CHECK(remove(w, "b").code == errc::none);
  CHECK(remove(w, "b").code == errc::none);
  CHECK(get(w, "b").state == job_state::deleted);
  CHECK(get(w, "b").line.empty());
  REQUIRE(get(w, "b").history.size() == 1);  // its run left no trace
  CHECK(get(w, "b").history[0].cause == "deleted");
  CHECK(waiters(w, m) == names{"c"});
  CHECK(counts(w).throttled == 1);
  CHECK(settle(w, old) == errc::stale_fence);
  audit(w);
  REQUIRE(settle(w, a) == errc::none);
  CHECK(holders(w, m) == names{"c reserved"});
  REQUIRE(requeue(w, "b").code == errc::none);
  const auto c = claim_next(w);
  CHECK(c.j.id.value == "c");
  const auto b = claim_next(w);
  CHECK(b.admitted.empty());
  CHECK(take(w, b.j, {m}) == "parked " + m);
  audit(w);
}

ON_EACH_STORE("What was reserved for a deleted job goes to the next") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m});
  parked(w, "c", {m});
  REQUIRE(settle(w, a) == errc::none);
  CHECK(remove(w, "b").code == errc::none);
  CHECK(w.store().made_work());
  CHECK(holders(w, m) == names{"c reserved"});
  CHECK(ids(claim(w, {.free = 9})) == names{"c"});
  CHECK(remove(w, "c").code == errc::none);
  CHECK(all_throttlers(w).empty());
  audit(w);
}

ON_EACH_STORE("A reservation that nobody claims passes on and its job goes to the tail") {
  const auto a = holding(w, "a", {m});
  const auto old = parked(w, "b", {m}, "q");
  parked(w, "c", {m});
  parked(w, "d", {m});
  REQUIRE(settle(w, a) == errc::none);
  REQUIRE(holders(w, m) == names{"b reserved"});
  w.clock.advance(5s - 1us);
  serve(w);
  CHECK(promote(w).next_in == duration(1us));
  CHECK(holders(w, m) == names{"b reserved"});
  w.clock.advance(1us);
  promote(w);
  CHECK(w.store().made_work());
  CHECK(holders(w, m) == names{"c reserved"});
  CHECK(waiters(w, m) == names{"d", "b"});
  const auto back = get(w, "b");
  CHECK(back.state == job_state::throttled);
  CHECK(back.line == m);
  CHECK(back.reason == "waits for " + m);
  CHECK(back.attempt == 0);
  CHECK(claim(w, {.free = 9, .queue = "q"}).jobs.empty());
  CHECK(settle(w, old) == errc::stale_fence);
  const auto c = claim_next(w);
  CHECK(c.admitted == names{m});
  audit(w);
}

ON_EACH_STORE("A reservation lapses after the time that a promotion says") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m}, "q");
  parked(w, "c", {m});
  REQUIRE(settle(w, a) == errc::none);
  w.clock.advance(5s);
  promote_after(w, 6s);
  CHECK(holders(w, m) == names{"b reserved"});
  SECTION("and not once it was claimed") {
    const auto b = claim_next(w, "q");
    w.clock.advance(5s);
    promote_after(w, 6s);
    CHECK(holders(w, m) == names{"b"});
    CHECK(settle(w, b.j) == errc::none);
    CHECK(holders(w, m) == names{"c reserved"});
  }
  SECTION("and the next one counts from its own beginning") {
    promote_after(w, 4s);
    CHECK(holders(w, m) == names{"c reserved"});
    w.clock.advance(4s - 1us);
    promote_after(w, 4s);
    CHECK(holders(w, m) == names{"c reserved"});
    w.clock.advance(2us);
    promote_after(w, 4s);
    CHECK(holders(w, m) == names{"b reserved"});
    CHECK(waiters(w, m) == names{"c"});
  }
  audit(w);
}

ON_EACH_STORE("A reservation passes on from a queue that was paused meanwhile") {
  const auto a = holding(w, "a", {m});
  parked(w, "b", {m}, "q");
  REQUIRE(settle(w, a) == errc::none);
  pause(w, "q");
  w.clock.advance(31s);
  promote(w);
  CHECK(holders(w, m).empty());
  CHECK(waiters(w, m) == names{"b"});
  CHECK(get(w, "b").state == job_state::throttled);
  CHECK(take(w, started(w, "c"), {m}) == "granted");
  audit(w);
}

ON_EACH_STORE("A woken job that no server here knows keeps its reservation while it lasts") {
  const auto a = holding(w, "a", {m});
  REQUIRE(put(w, {.id = "b", .type = "mail"}) == errc::none);
  REQUIRE(take(w, claim_one(w, {.types = "mail"}), {m}) == "parked " + m);
  REQUIRE(settle(w, a) == errc::none);
  CHECK(claim(w, {.free = 9}).jobs.empty());
  CHECK(get(w, "b").line == "type:mail");
  CHECK(holders(w, m) == names{"b reserved"});
  audit(w);
  SECTION("and has it when one comes that does") {
    const auto got = claim(w, {.free = 9, .types = "mail"});
    REQUIRE(ids(got) == names{"b"});
    CHECK(admitted(got) == std::vector<names>{{m}});
  }
  SECTION("and waits again when none comes") {
    w.clock.advance(31s);
    promote(w);
    CHECK(get(w, "b").state == job_state::throttled);
    CHECK(get(w, "b").line == m);
    CHECK(holders(w, m).empty());
  }
  audit(w);
}

ON_EACH_STORE_AND_FILE("A job that was woken in vain three times keeps what it has") {
  const auto x1 = holding(w, "x1", {x});
  const auto y1 = holding(w, "y1", {y});
  parked(w, "j", {x, y});
  wake_without_success(w, x1, x, y);
  CHECK(holders(w, x).empty());
  const auto x2 = holding(w, "x2", {x});
  wake_without_success(w, y1, y, x);
  CHECK(holders(w, y).empty());
  const auto y2 = holding(w, "y2", {y});
  wake_without_success(w, x2, x, y);
  CHECK(holders(w, x) == names{"j kept"});
  CHECK(waiters(w, y) == names{"j"});
  CHECK(take(w, started(w, "late"), {x}) == "parked " + x);
  CHECK(undefine(w, x).code == errc::illegal_transition);
  audit(w);

  if (w.survives_reopen) w.reopen();
  REQUIRE(settle(w, y2) == errc::none);
  CHECK(holders(w, x).size() == 1);
  CHECK(holders(w, y) == names{"j reserved"});
  const auto j = claim_next(w);
  CHECK(j.admitted == names{x, y});
  CHECK(take(w, j.j, {x, y}) == "granted");
  CHECK(holders(w, x) == names{"j"});
  CHECK(one_throttler(w, x).holders.at(0).fence == j.j.fence);
  REQUIRE(settle(w, j.j) == errc::none);
  CHECK(holders(w, x) == names{"late reserved"});
  CHECK(holders(w, y).empty());
  audit(w);
}

ON_EACH_STORE("What is kept is what comes before the first busy one by name") {
  const auto y2 = keep_x(w);
  REQUIRE(holders(w, x) == names{"j kept"});
  REQUIRE(settle(w, y2) == errc::none);
  const auto woken = claim_next(w);
  REQUIRE(woken.admitted == names{x, y});
  holding(w, "v1", {"mutex:v"});
  SECTION("so none when the first is busy") {
    CHECK(take(w, woken.j, {"mutex:v", x, y}) == "parked mutex:v");
    CHECK(holders(w, y).empty());
    CHECK(waiters(w, "mutex:v") == names{"j"});
  }
  SECTION("and others that are free are taken too") {
    holding(w, "z1", {"mutex:z"});
    CHECK(take(w, woken.j, {"mutex:u", x, y, "mutex:z"}) == "parked mutex:z");
    CHECK(holders(w, "mutex:u") == names{"j kept"});
    CHECK(holders(w, x) == names{"j kept"});
    CHECK(holders(w, y) == names{"j kept"});
  }
  audit(w);
}

ON_EACH_STORE("Two jobs that keep permits do not wait for each other") {
  const auto park_again = [&](const std::string& had, const std::string& busy) {
    const auto woken = claim_next(w, "q");
    REQUIRE(woken.admitted == names{had});
    REQUIRE(take(w, woken.j, {x, y}) == "parked " + busy);
  };
  // The older one was woken twice in vain and waits for y.
  const auto has_y = holding(w, "has-y", {y});
  parked(w, "older", {x, y}, "q");
  const auto has_x = holding(w, "has-x", {x});
  REQUIRE(settle(w, has_y) == errc::none);
  park_again(y, x);
  const auto had_y = holding(w, "had-y", {y});
  REQUIRE(settle(w, has_x) == errc::none);
  park_again(x, y);
  // Meanwhile the younger one keeps x, and waits for y too.
  pause(w, "q");
  REQUIRE(settle(w, had_y) == errc::none);
  const auto y2 = keep_x(w);
  pause(w, "q", false);
  REQUIRE(waiters(w, y) == names{"older", "j"});
  REQUIRE(settle(w, y2) == errc::none);
  park_again(y, x);
  // It keeps what comes before the busy one by name, so not y; or both would wait for ever.
  CHECK(holders(w, x).size() == 1);
  CHECK(holders(w, y) == names{"j reserved"});
  REQUIRE(settle(w, claim_next(w).j) == errc::none);
  const auto last = claim_next(w, "q");
  CHECK(take(w, last.j, {x, y}) == "granted");
  REQUIRE(settle(w, last.j) == errc::none);
  CHECK(all_throttlers(w).empty());
  audit(w);
}

ON_EACH_STORE("What a deleted job kept goes to the next") {
  keep_x(w);
  parked(w, "next", {x});
  REQUIRE(remove(w, "j").code == errc::none);
  CHECK(w.store().made_work());
  CHECK(holders(w, x) == names{"next reserved"});
  CHECK(waiters(w, y).empty());
  audit(w);
}

ON_EACH_STORE_AND_FILE("Strict permits stay with their job until it is final") {
  const auto first = holding(w, "a", {m}, {.strict = true});
  parked(w, "b", {m}, "q");
  const auto way = GENERATE(as<std::string>(), "retry", "later", "given back", "lost");
  const auto end = GENERATE(as<std::string>(), "succeeded", "failed", "deleted", "removed", "lost");
  CAPTURE(way, end);
  if (way == "retry") REQUIRE(settle(w, first, how::retry) == errc::none);
  if (way == "given back") REQUIRE(settle(w, first, how::given_back) == errc::none);
  if (way == "lost") lose_all(w);
  if (way == "later") {
    REQUIRE(settle(w, first, how::retry, 10s) == errc::none);
    CHECK(holders(w, m) == names{"a kept"});
    audit(w);
    w.clock.advance(10s);
    REQUIRE(promote(w).moved == 1);
  }
  CHECK(holders(w, m) == names{"a kept"});
  CHECK(one_throttler(w, m).holders.at(0).fence == fence{0});
  CHECK(waiters(w, m) == names{"b"});
  CHECK(undefine(w, m).code == errc::illegal_transition);
  audit(w);
  if (w.survives_reopen) w.reopen();

  serve(w, "q");
  const auto second = claim_next(w, "default", true);
  REQUIRE(second.j.id.value == "a");
  CHECK(second.admitted == names{m});
  CHECK(holders(w, m) == names{"a"});
  CHECK(one_throttler(w, m).holders.at(0).fence == second.j.fence);
  CHECK(take(w, second.j, {m}, {.strict = true}) == "granted");
  CHECK(take(w, first, {m}, {.strict = true}) == "stale");
  if (end == "succeeded") REQUIRE(settle(w, second.j, how::succeeded) == errc::none);
  if (end == "failed") REQUIRE(settle(w, second.j, how::failed) == errc::none);
  if (end == "deleted") REQUIRE(settle(w, second.j, how::removed) == errc::none);
  if (end == "removed") REQUIRE(remove(w, "a").code == errc::none);
  if (end == "lost") {
    w.clock.advance(29s);
    serve(w, "q");
    lose_all(w, 1s, 1);
    REQUIRE(get(w, "a").state == job_state::failed);
  }
  CHECK(holders(w, m) == names{"b reserved"});
  audit(w);
}

ON_EACH_STORE("Strict permits of a job that does not run go on when it is deleted") {
  const auto a = holding(w, "a", {m}, {.strict = true});
  parked(w, "b", {m}, "q");
  REQUIRE(settle(w, a, how::retry, GENERATE(duration(0s), duration(1h))) == errc::none);
  CHECK(remove(w, "a").code == errc::none);
  CHECK(w.store().made_work());
  CHECK(holders(w, m) == names{"b reserved"});
  audit(w);
}

ON_EACH_STORE("Strict permits that a woken job takes stay with it too") {
  const auto a = holding(w, "a", {m});
  const auto first = started(w, "b");
  REQUIRE(take(w, first, {m}, {.strict = true}) == "parked " + m);
  REQUIRE(settle(w, a) == errc::none);
  const auto woken = claim_next(w);
  REQUIRE(take(w, woken.j, {m}, {.strict = true}) == "granted");
  REQUIRE(settle(w, woken.j, how::retry) == errc::none);
  CHECK(holders(w, m) == names{"b kept"});
  const auto again = claim_next(w);
  CHECK(again.admitted == names{m});
  REQUIRE(settle(w, again.j) == errc::none);
  CHECK(all_throttlers(w).empty());
  audit(w);
}

ON_EACH_STORE("A job tells what it has permits of, and those have it among their holders") {
  const auto has = [&](const std::string& id) {
    const auto told = get(w, id).permits;
    for (const auto* resource : {"mutex:m", "mutex:x", "mutex:y", "semaphore:s"}) {
      const auto all = holders(w, resource);
      const bool is_holder = std::any_of(all.begin(), all.end(), [&](const auto& one) {  // "ID", "ID kept" and so on
        return one.substr(0, one.find(' ')) == id;
      });
      CAPTURE(id, resource);
      CHECK(is_holder == (std::find(told.begin(), told.end(), resource) != told.end()));
    }
    return told;
  };
  REQUIRE(define(w, "semaphore:s", 2) == defined::added);
  // Taken by the claim, and more of its own.
  put_all(w, {"claimed"});
  const auto first = claim_one(w, {.permits = {{"work", {{"semaphore:s"}}}}});
  CHECK(has("claimed") == names{"semaphore:s"});
  REQUIRE(take(w, first, {m}) == "granted");
  CHECK(has("claimed") == names{m, "semaphore:s"});
  // Who waits has none; who is woken is promised one.
  parked(w, "waits", {m});
  CHECK(has("waits").empty());
  REQUIRE(settle(w, first) == errc::none);
  CHECK(has("claimed").empty());
  CHECK(get(w, "waits").state == job_state::enqueued);
  CHECK(has("waits") == names{m});
  const auto woken = claim_next(w);
  CHECK(has("waits") == names{m});
  REQUIRE(remove(w, "waits").code == errc::none);
  CHECK(has("waits").empty());
  // Strictly between its runs, too.
  const auto strict = holding(w, "strict", {m}, {.strict = true});
  REQUIRE(settle(w, strict, how::retry, 1h) == errc::none);
  CHECK(get(w, "strict").state == job_state::scheduled);
  CHECK(has("strict") == names{m});
  // What it keeps while it waits for another.
  keep_x(w);
  CHECK(get(w, "j").line == y);
  CHECK(has("j") == names{x});
  audit(w);
}

ON_EACH_STORE("A requeued job has nothing of what it had strictly") {
  const auto a = holding(w, "a", {m}, {.strict = true});
  REQUIRE(settle(w, a, how::failed) == errc::none);
  CHECK(holders(w, m).empty());
  REQUIRE(requeue(w, "a").code == errc::none);
  const auto again = claim_next(w);
  CHECK(again.admitted.empty());
  CHECK(holders(w, m).empty());
  audit(w);
}

ON_EACH_STORE("An old run does not release what the new one has") {
  const bool strict = GENERATE(false, true);
  const auto old = holding(w, "a", {m}, {.strict = strict});
  lose_all(w);
  const auto next = claim_next(w, "default", true);
  CHECK(next.admitted == (strict ? names{m} : names{}));
  REQUIRE(take(w, next.j, {m}, {.strict = strict}) == "granted");
  parked(w, "b", {m});
  for (const auto end : {how::succeeded, how::failed, how::removed, how::retry, how::given_back})
    CHECK(settle(w, old, end) == errc::stale_fence);
  CHECK(reap(w, {{run_of(old), 0, 30s, false}}).each == std::vector{errc::stale_fence});
  CHECK(holders(w, m) == names{"a"});
  CHECK(waiters(w, m) == names{"b"});
  audit(w);
}

ON_EACH_STORE("Resources may be named as people name things") {
  const std::string name = GENERATE(as<std::string>(), "it's \"quoted\"", "two words ", "größe/日本", "100% *?[a-z]_\\",
                                    "; drop table jobs; --", "a/b/c:d:e", std::string(94, 'n'));
  for (const auto& resource : {"mutex:" + name, "semaphore:" + name.substr(0, 90)}) {
    INFO(resource);
    const auto tag = resource.substr(0, 1);
    REQUIRE(define(w, "semaphore:" + name.substr(0, 90), 1) != defined::changed);
    const auto a = holding(w, "a" + tag, {resource});
    parked(w, "b" + tag, {resource});
    CHECK(get(w, "b" + tag).line == resource);
    CHECK(get(w, "b" + tag).reason == "waits for " + resource);
    CHECK(waiters(w, resource) == names{"b" + tag});
    CHECK(waiters(w, resource + "n").empty());
    REQUIRE(settle(w, a) == errc::none);
    CHECK(holders(w, resource) == names{"b" + tag + " reserved"});
    const auto b = claim_next(w);
    CHECK(b.admitted == names{resource});
    CHECK(all_throttlers(w).size() == (tag == "m" ? 2 : 1));
    CHECK(reconcile(w) == 0);
    REQUIRE(settle(w, b.j) == errc::none);
    audit(w);
  }
}

ON_EACH_STORE("Jobs of any id wait and are woken") {
  auto last = holding(w, "a", {m});
  const names all = {"mutex:m", "1", "-", "a.b:c_d", std::string(100, 'j')};
  for (const auto& id : all)
    parked(w, id, {m});
  CHECK(waiters(w, m) == all);
  for (const auto& id : all) {
    REQUIRE(settle(w, last) == errc::none);
    CHECK(holders(w, m) == names{id + " reserved"});
    const auto next = claim_next(w);
    CHECK(next.j.id.value == id);
    last = next.j;
  }
  audit(w);
}

TEMPLATE_TEST_CASE("What waits and what is held outlives the process", "[contract]", sqlite_file_world, redis_world) {
  TestType w;
  REQUIRE(define(w, "semaphore:s", 2) == defined::added);
  const auto a = holding(w, "a", {m, "semaphore:s"});
  const auto b = holding(w, "b", {"semaphore:s"});
  parked(w, "c", {m});
  parked(w, "d", {"semaphore:s"});
  parked(w, "e", {"semaphore:s"});
  REQUIRE(settle(w, b) == errc::none);
  w.reopen();
  CHECK(holders(w, "semaphore:s") == names{"a", "d reserved"});
  CHECK(waiters(w, "semaphore:s") == names{"e"});
  CHECK(take(w, a, {m, "semaphore:s"}) == "granted");
  REQUIRE(settle(w, a) == errc::none);
  CHECK(holders(w, m) == names{"c reserved"});
  const auto got = claim(w, {.free = 9});
  CHECK(ids(got) == names{"d", "c", "e"});
  audit(w);
}
