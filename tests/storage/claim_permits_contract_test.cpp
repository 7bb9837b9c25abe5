// Permits that a claim takes itself: who is let in, who is parked, who goes on, and what is given back.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string m = "mutex:m";
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
