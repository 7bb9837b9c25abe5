// Permits that a claim takes itself: who is let in, who is parked, who goes on, and what is given back.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string s = "semaphore:s";

claim_words wanting(const names& resources, std::uint32_t free, std::uint32_t ahead = 0, bool park = true) {
  claim_words words;
  words.free = free;
  words.ahead = ahead;
  words.types = "work mail";
  words.permits = {{"work", {resources, park}}};
  return words;
}

void serve(world& w) { beat(w, serving("s0", {"default:1"})); }

std::uint64_t held(world& w, const std::string& resource) { return one_throttler(w, resource).about.held; }

}  // namespace

ON_EACH_STORE("A claim takes the permits of a type and parks who lacks one") {
  define(w, s, 2);
  put_all(w, {"a", "b", "c", "d"});
  REQUIRE(put(w, {.id = "letter", .type = "mail"}) == errc::none);
  const auto got = claim(w, wanting({s}, 5));
  CHECK(ids(got) == names{"a", "b", "letter"});
  CHECK(admitted(got) == std::vector<names>{{s}, {s}, {}});
  CHECK(got.parked == 2);
  CHECK(holders(w, s) == names{"a", "b"});
  CHECK(waiters(w, s) == names{"c", "d"});
  CHECK(held(w, s) == 2);
  const auto holder = one_throttler(w, s).holders.at(1);
  CHECK(holder.fence == got.jobs[1].job.fence);
  CHECK(holder.since == w.clock.now());
  const auto c = get(w, "c");
  CHECK(c.state == job_state::throttled);
  CHECK(c.attempt == 0);
  CHECK(c.line == s);
  audit(w);
}

ON_EACH_STORE("What a claim took goes back when its run ends and to the oldest waiter") {
  const auto words = wanting({m}, 1);
  put_all(w, {"a", "b", "c"});
  auto running = claim(w, words).jobs.at(0).job;
  CHECK(claim(w, words).parked == 2);
  for (const std::string next : {"b", "c"}) {
    const auto end = GENERATE(how::succeeded, how::failed, how::retry, how::given_back, how::deferred);
    storage::settle_request r;
    r.runs.push_back(ended(running, end, 1h));
    r.next = claiming(words);
    const auto told = ask(w, r);
    CHECK(told.each.at(0) == errc::none);
    REQUIRE(ids(told.next) == names{next});
    CHECK(admitted(told.next) == std::vector<names>{{m}});
    CHECK(holders(w, m) == names{next});
    running = told.next.jobs[0].job;
    audit(w);
  }
}

ON_EACH_STORE("Others are told of a job that an end has woken, when its claim takes one that was woken before") {
  define(w, s, 2);
  serve(w);
  put_all(w, {"a", "b", "c", "d"});
  const auto got = claim(w, wanting({s}, 5));
  REQUIRE(ids(got) == names{"a", "b"});
  REQUIRE(settle(w, got.jobs[0].job) == errc::none);
  CHECK(w.store().made_work().queues.contains("default"));  // c
  storage::settle_request r;
  r.runs.push_back(ended(got.jobs[1].job, how::succeeded));
  r.next = claiming(wanting({s}, 1));
  const auto told = ask(w, r);
  REQUIRE(ids(told.next) == names{"c"});
  CHECK(w.store().made_work().queues.contains("default"));  // d
  audit(w);
}

ON_EACH_STORE("What a claim took goes back when its run is lost or its job is removed") {
  define(w, s, 3);
  put_all(w, {"a", "b"});
  const auto got = claim(w, wanting({m, s}, 2));
  CHECK(ids(got) == names{"a"});
  CHECK(got.jobs.at(0).admitted == names{m, s});
  CHECK(waiters(w, m) == names{"b"});
  CHECK(held(w, s) == 1);
  SECTION("lost") { lose_all(w); }
  SECTION("removed") { CHECK(remove(w, "a").code == errc::none); }
  serve(w);
  reconcile(w);
  CHECK(held(w, s) == 0);
  CHECK(holders(w, m) == names{"b reserved"});
  audit(w);
}

ON_EACH_STORE("Where several permits are needed a claim takes all or none") {
  define(w, s, 2);
  const auto other = holding(w, "other", {m});
  put_all(w, {"a"});
  CHECK(claim(w, wanting({m, s}, 1)).parked == 1);
  CHECK(held(w, s) == 0);
  CHECK(settle(w, other) == errc::none);
  const auto woken = claim(w, wanting({m, s}, 1));
  CHECK(admitted(woken) == std::vector<names>{{m}});  // who was woken asks for the rest itself
  CHECK(take(w, woken.jobs.at(0).job, {m, s}) == "granted");
  audit(w);
}

ON_EACH_STORE("Beyond free workers a claim takes permits only while half of them is free") {
  define(w, s, 6);
  put_all(w, {"a", "b", "c", "d", "e"});
  SECTION("of a semaphore") {
    CHECK(ids(claim(w, wanting({s}, 1, 10))) == names{"a", "b", "c"});
    CHECK(ids(claim(w, wanting({s}, 1, 10))) == names{"d"});
    CHECK(claim(w, wanting({s}, 0, 10)).jobs.empty());
    CHECK(get(w, "e").state == job_state::enqueued);
  }
  SECTION("so never a mutex") {
    CHECK(claim(w, wanting({m}, 0, 10)).jobs.empty());
    CHECK(ids(claim(w, wanting({m}, 1, 10))) == names{"a"});
    CHECK(get(w, "b").state == job_state::enqueued);
  }
  audit(w);
}

ON_EACH_STORE("A job that may not wait is claimed without the permit that is busy") {
  put_all(w, {"a", "b"});
  const auto got = claim(w, wanting({m}, 2, 0, false));
  CHECK(ids(got) == names{"a", "b"});
  CHECK(admitted(got) == std::vector<names>{{m}, {}});
  CHECK(got.parked == 0);
  CHECK(take(w, got.jobs[1].job, {m}, {.park = false}) == "busy " + m);
  audit(w);
}

ON_EACH_STORE("A claim leaves it to others to say that a semaphore is not defined") {
  put_all(w, {"a"});
  const auto got = claim(w, wanting({m, s}, 1));
  CHECK(admitted(got) == std::vector<names>{{}});
  CHECK(holders(w, m).empty());
  CHECK(take(w, got.jobs.at(0).job, {m, s}) == "undefined " + s);
  audit(w);
}

ON_EACH_STORE("A claim lets nobody overtake who waits and could run") {
  define(w, s, 1);
  holding(w, "first", {s});
  parked(w, "waits", {s});
  leave(w, server_id("s1"));
  pause(w, "default");
  define(w, s, 2);  // nobody can be woken now
  CHECK(waiters(w, s) == names{"waits"});
  put_all(w, {"late"});
  SECTION("but who cannot run holds up nobody") {
    REQUIRE(put(w, {.id = "elsewhere", .queue = "other"}) == errc::none);
    auto words = wanting({s}, 1);
    words.queue = "other";
    CHECK(ids(claim(w, words)) == names{"elsewhere"});
  }
  SECTION("and who goes on is first in the woken line") {
    pause(w, "default", false);
    CHECK(ids(claim(w, wanting({s}, 1))) == names{"waits"});
    CHECK(claim(w, wanting({s}, 1)).parked == 1);
  }
  audit(w);
}

ON_EACH_STORE("One claim parks so many and says that there may be more") {
  names many;
  for (std::uint32_t i = 0; i < storage::max_parked + 10; ++i)
    many.push_back(cat("j", i));
  put_all(w, many);
  REQUIRE(put(w, {.id = "letter", .type = "mail"}) == errc::none);
  const auto got = claim(w, wanting({m}, 2));
  CHECK(ids(got) == names{"j0"});
  CHECK(got.parked == storage::max_parked);
  const auto rest = claim(w, wanting({m}, 2));
  CHECK(ids(rest) == names{"letter"});
  CHECK(rest.parked == 9);
  audit(w);
}

ON_EACH_STORE("A claim asked again tells again what it took") {
  put_all(w, {"a", "b"});
  auto words = wanting({m}, 1);
  words.op = 7;
  const auto first = claim(w, words), again = claim(w, words);
  CHECK(ids(again) == ids(first));
  CHECK(admitted(again) == admitted(first));
  CHECK(admitted(first) == std::vector<names>{{m}});
  audit(w);
}

ON_EACH_STORE("What a claim took is the same grant when it is asked for and can become more") {
  put_all(w, {"a"});
  const auto a = claim(w, wanting({m}, 1)).jobs.at(0).job;
  const auto since = w.clock.now();
  w.clock.advance(1s);
  CHECK(take(w, a, {m}) == "granted");
  CHECK(holders(w, m) == names{"a"});
  CHECK(one_throttler(w, m).holders.at(0).since == since);
  SECTION("a second permit") {
    CHECK(take(w, a, {m, "mutex:n"}) == "granted");
    CHECK(settle(w, a) == errc::none);
    CHECK(holders(w, "mutex:n").empty());
  }
  SECTION("a second permit that is busy parks it and gives back the first") {
    holding(w, "other", {"mutex:n"});
    CHECK(take(w, a, {m, "mutex:n"}) == "parked mutex:n");
  }
  SECTION("the job's own") {
    CHECK(take(w, a, {m}, {.strict = true}) == "granted");
    CHECK(settle(w, a, how::retry, 1h) == errc::none);
    CHECK(holders(w, m) == names{"a kept"});
    CHECK(remove(w, "a").code == errc::none);
  }
  CHECK(holders(w, m).empty());
  audit(w);
}

ON_EACH_STORE("A window that parks a run gives back what its claim took") {
  put_all(w, {"a", "b"});
  const auto a = claim(w, wanting({m}, 2)).jobs.at(0).job;
  storage::update_limiter_request r;
  r.limiter = "fixed_window:f";
  r.from = w.clock.now();
  r.until = w.clock.now() + 1min;
  r.parks.push_back({run_of(a), "fixed_window:f"});
  CHECK(update_limiter(w, r).updated);
  CHECK(get(w, "a").line == "fixed_window:f");
  CHECK(holders(w, m) == names{"b reserved"});
  audit(w);
}

namespace {

// Wants permits of `m`, of which `most` jobs may share one.
claim_words chaining(std::uint32_t most, const std::string& server = "s1", bool wants_turn = false) {
  auto words = wanting({m}, 4);
  words.server = server;
  words.chains = {{"work", {.most = most, .wants_turn = wants_turn}}};
  return words;
}
// What comes when this run ends.
storage::claim_answer after(world& w, const job& over, const claim_words& words) {
  return ask(w, storage::settle_request{{ended(over, how::succeeded)}, claiming(words)}).next;
}
std::vector<sluice::fence> chains_of(const storage::claim_answer& got) {
  std::vector<sluice::fence> all;
  for (const auto& one : got.jobs)
    all.push_back(one.chain);
  return all;
}
// `count` jobs of which the first holds the mutex and the others wait.
job first_of_line(world& w, int count) {
  serve(w);
  for (int i = 0; i < count; ++i)
    REQUIRE(put(w, {.id = cat("j", i)}) == errc::none);
  const auto got = claim(w, chaining(1));
  REQUIRE(ids(got) == names{"j0"});
  REQUIRE(got.parked == static_cast<std::uint32_t>(count - 1));
  return got.jobs[0].job;
}

}  // namespace

ON_EACH_STORE("Those who wait follow a woken job under one permit as many as may and each by its own fence") {
  const auto first = first_of_line(w, 6);
  const auto got = after(w, first, chaining(3));
  CHECK(ids(got) == names{"j1", "j2", "j3"});
  CHECK(admitted(got) == std::vector<names>(3, names{m}));
  const auto chain = got.jobs.at(0).job.fence;
  CHECK(chains_of(got) == std::vector<sluice::fence>(3, chain));
  CHECK(got.jobs[1].job.fence > chain);
  CHECK(got.jobs[2].job.fence > got.jobs[1].job.fence);
  CHECK(held(w, m) == 1);
  CHECK(holders(w, m) == names{"j1"});
  CHECK(waiters(w, m) == names{"j4", "j5"});
  audit(w);
}

ON_EACH_STORE("A chain has its permit until the last of its runs has ended however they end") {
  const auto first = first_of_line(w, 5);
  const auto got = jobs_of(after(w, first, chaining(3)));
  REQUIRE(got.size() == 3);
  SECTION("by their handlers, in any order") {
    CHECK(settle(w, got[1]) == errc::none);
    CHECK(settle(w, got[0], how::failed) == errc::none);
    CHECK(holders(w, m) == names{"j3"});
    CHECK(claim(w, chaining(3)).jobs.empty());
    CHECK(settle(w, got[2], how::retry, 1h) == errc::none);
  }
  SECTION("removed") {
    for (const auto& j : got) {
      CHECK(waiters(w, m) == names{"j4"});
      CHECK(remove(w, j.id.value).code == errc::none);
      audit(w);
    }
  }
  SECTION("lost with their server") {
    w.clock.advance(31s);
    serve(w);
    CHECK(reap(w, expired(w).leases).each == std::vector<errc>(3, errc::none));
  }
  CHECK(holders(w, m) == names{"j4 reserved"});
  audit(w);
}

ON_EACH_STORE("Runs of a chain that are given back wait at their old places in its line") {
  const auto first = first_of_line(w, 6);
  const auto got = jobs_of(after(w, first, chaining(4)));
  REQUIRE(ids(got) == names{"j1", "j2", "j3", "j4"});
  put_all(w, {"late"});
  CHECK(claim(w, chaining(1)).parked == 1);
  CHECK(settle(w, got[3], how::given_back) == errc::none);
  CHECK(settle(w, got[2], how::given_back) == errc::none);
  CHECK(waiters(w, m) == names{"j3", "j4", "j5", "late"});
  CHECK(get(w, "j3").state == job_state::throttled);
  CHECK(get(w, "j3").attempt == 0);
  CHECK(settle(w, got[0]) == errc::none);
  CHECK(holders(w, m) == names{"j2"});
  CHECK(ids(after(w, got[1], chaining(2))) == names{"j3", "j4"});
  audit(w);
}

ON_EACH_STORE("Only those of the first's type and queue follow, as far as they stand next to each other") {
  serve(w);
  auto words = chaining(10);
  words.permits["mail"] = {{m}, true};
  for (const std::string id : {"j0", "j1", "j2"})
    REQUIRE(put(w, {.id = id}) == errc::none);
  REQUIRE(put(w, {.id = "letter", .type = "mail"}) == errc::none);
  REQUIRE(put(w, {.id = "j3"}) == errc::none);
  const auto first = claim(w, words);
  REQUIRE(ids(first) == names{"j0"});
  CHECK(ids(after(w, first.jobs[0].job, words)) == names{"j1", "j2"});
  audit(w);
}

ON_EACH_STORE("Where several permits could run them side by side a chain takes its share of the line") {
  define(w, s, 2);
  serve(w);
  auto words = chaining(10);
  words.permits = {{"work", {{s}, true}}};
  put_all(w, {"a", "b", "c", "d", "e", "f", "g"});
  const auto first = jobs_of(claim(w, words));
  REQUIRE(ids(first) == names{"a", "b"});
  CHECK(ids(after(w, first[0], words)) == names{"c", "d", "e"});
  CHECK(ids(after(w, first[1], words)) == names{"f"});
  CHECK(waiters(w, s) == names{"g"});
  CHECK(held(w, s) == 2);
  audit(w);
}

ON_EACH_STORE("A chain that goes on may grow, and one that is over does not") {
  const auto first = first_of_line(w, 8);
  const auto got = jobs_of(after(w, first, chaining(2)));
  REQUIRE(ids(got) == names{"j1", "j2"});
  auto words = chaining(2);
  words.chains["work"].growing = {{got[0].fence, 3}};
  const auto more = after(w, got[0], words);
  CHECK(ids(more) == names{"j3", "j4", "j5"});
  CHECK(chains_of(more) == std::vector<sluice::fence>(3, got[0].fence));
  CHECK(held(w, m) == 1);
  audit(w);
  CHECK(settle(w, got[1]) == errc::none);
  for (const auto& j : jobs_of(more)) {
    CHECK(holders(w, m) == names{j.id.value});
    CHECK(settle(w, j) == errc::none);
  }
  CHECK(holders(w, m) == names{"j6 reserved"});
  CHECK(ids(claim(w, words)) == names{"j6", "j7"});
  audit(w);
}

ON_EACH_STORE("What is given back out of a chain is woken at once when another permit is free") {
  define(w, s, 2);
  serve(w);
  auto words = chaining(10);
  words.permits = {{"work", {{s}, true}}};
  put_all(w, {"a", "b", "c", "d", "e"});
  const auto first = jobs_of(claim(w, words));
  const auto chain = jobs_of(after(w, first[0], words));
  REQUIRE(ids(chain) == names{"c", "d"});
  CHECK(ids(after(w, first[1], words)) == names{"e"});
  CHECK(settle(w, get(w, "e")) == errc::none);
  CHECK(held(w, s) == 1);
  CHECK(settle(w, chain[1], how::given_back) == errc::none);
  CHECK(holders(w, s) == names{"c", "d reserved"});
  audit(w);
}

ON_EACH_STORE("A server that has the permit for one type wants no turn for another nor for one that it does not know") {
  const auto first = first_of_line(w, 6);
  const auto got = jobs_of(after(w, first, chaining(2)));
  REQUIRE(got.size() == 2);
  auto words = chaining(2);
  words.permits["mail"] = {{m}, true};
  words.chains["mail"] = {.most = 2, .wants_turn = true};
  CHECK(claim(w, words).jobs.empty());
  auto unknowing = chaining(2, "s3", true);
  unknowing.types = "mail";
  CHECK(claim(w, unknowing).jobs.empty());
  CHECK(claim(w, chaining(2, "s2", true)).jobs.empty());
  CHECK(settle(w, got[0]) == errc::none);
  CHECK(after(w, got[1], words).left_to_another);
  CHECK(ids(claim(w, chaining(2, "s2"))) == names{"j3", "j4"});
  audit(w);
}

ON_EACH_STORE("No chain grows while more have its permit than a lower limit says") {
  define(w, s, 2);
  serve(w);
  auto words = chaining(2);
  words.permits = {{"work", {{s}, true}}};
  put_all(w, {"a", "b", "c", "d", "e", "f", "g", "h"});
  const auto first = jobs_of(claim(w, words));
  REQUIRE(ids(first) == names{"a", "b"});
  const auto one = jobs_of(after(w, first[0], words)), other = jobs_of(after(w, first[1], words));
  REQUIRE(ids(one) == names{"c", "d"});
  REQUIRE(ids(other) == names{"e", "f"});
  define(w, s, 1);
  words.chains["work"].growing = {{one[0].fence, 2}};
  CHECK(claim(w, words).jobs.empty());
  CHECK(settle(w, other[0]) == errc::none);
  CHECK(after(w, other[1], words).jobs.size() == 2);
  CHECK(held(w, s) == 1);
  audit(w);
}

ON_EACH_STORE("A server that wants a turn is left the next permit for a moment and no chain grows meanwhile") {
  const auto first = first_of_line(w, 8);
  const auto got = jobs_of(after(w, first, chaining(2)));
  REQUIRE(ids(got) == names{"j1", "j2"});
  CHECK(claim(w, chaining(2, "s2", true)).jobs.empty());
  auto words = chaining(2);
  words.chains["work"].growing = {{got[0].fence, 3}};
  CHECK(after(w, got[0], words).jobs.empty());
  const auto left = after(w, got[1], words);
  CHECK(left.jobs.empty());
  CHECK(left.left_to_another);
  CHECK(holders(w, m) == names{"j3 reserved"});
  SECTION("and takes it") {
    const auto next = claim(w, chaining(2, "s2"));
    CHECK(ids(next) == names{"j3", "j4"});
    CHECK(claim(w, chaining(2, "s1", true)).jobs.empty());
    CHECK(settle(w, next.jobs[1].job) == errc::none);
    CHECK(after(w, next.jobs[0].job, chaining(2, "s2")).left_to_another);
    CHECK(ids(claim(w, chaining(2))) == names{"j5", "j6"});
  }
  SECTION("but one that does not come in time loses it") {
    CHECK(claim(w, chaining(2)).jobs.empty());
    w.clock.advance(storage::turn_time);
    CHECK(ids(claim(w, chaining(2))) == names{"j3", "j4"});
  }
  audit(w);
}

ON_EACH_STORE("A run of a chain gets no more permits and leaves its own to the others when a limiter parks it") {
  const auto first = first_of_line(w, 4);
  const auto got = jobs_of(after(w, first, chaining(2)));
  REQUIRE(ids(got) == names{"j1", "j2"});
  CHECK(take(w, got[0], {m, "mutex:n"}) == "stale");
  for (const auto& j : got) {
    CHECK(waiters(w, m) == names{"j3"});
    storage::update_limiter_request r;
    r.limiter = "fixed_window:f";
    r.version = w.ask<storage::read_limiter_answer>(storage::read_limiter_request{r.limiter}).limiter.version;
    r.from = w.clock.now();
    r.until = w.clock.now() + 1min;
    r.parks.push_back({run_of(j), "fixed_window:f"});
    CHECK(update_limiter(w, r).updated);
    audit(w);
  }
  CHECK(holders(w, m) == names{"j3 reserved"});
}
