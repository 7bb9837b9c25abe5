// Permits that go on before they are free: who is claimed behind a start that runs, and what becomes of both.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string m = "mutex:m";
const std::string s = "semaphore:s";

// A claim for no free worker, which these starts hand on their permits to.
claim_words from(const std::vector<job>& running, const std::string& resource = m, bool whole = true) {
  claim_words words;
  words.free = 0;
  words.types = "work mail";
  words.permits = {{"work", {{resource}, true, whole}}};
  for (const auto& j : running)
    words.hand_on.push_back(start_of(j));
  return words;
}

// The first of these has the permit by its claim, the others wait.
job first_of(world& w, const names& jobs, const std::string& resource = m) {
  put_all(w, jobs);
  auto words = from({}, resource);
  words.free = static_cast<std::uint32_t>(jobs.size());
  const auto got = claim(w, words);
  REQUIRE(ids(got) == names{jobs[0]});
  REQUIRE(got.behind == std::vector<fence>{fence{}});
  return got.jobs[0];
}

job only(const storage::claim_answer& got) {
  REQUIRE(got.jobs.size() == 1);
  return got.jobs[0];
}

}  // namespace

ON_EACH_STORE("A running start hands on its permit to the oldest waiter") {
  const auto a = first_of(w, {"a", "b", "c"});
  w.clock.advance(1s);
  const auto got = claim(w, from({a}));
  REQUIRE(ids(got) == names{"b"});
  CHECK(got.behind == std::vector<fence>{a.fence});
  CHECK(got.admitted == std::vector<names>{{m}});
  CHECK(got.jobs[0].attempt == 1);
  CHECK(get(w, "b").state == job_state::processing);
  CHECK(holders(w, m) == names{"b"});
  CHECK(one_throttler(w, m).holders.at(0).fence == got.jobs[0].fence);
  CHECK(one_throttler(w, m).holders.at(0).since == w.clock.now());
  CHECK(waiters(w, m) == names{"c"});
  audit(w);

  SECTION("whose end passes it on") {
    CHECK(settle(w, a) == errc::none);
    CHECK(holders(w, m) == names{"b"});
    CHECK(settle(w, got.jobs[0]) == errc::none);
    CHECK(holders(w, m) == names{"c reserved"});
  }
  SECTION("who hands it on in turn once it runs") {
    CHECK(claim(w, from({got.jobs[0]})).jobs.empty());
    CHECK(settle(w, a) == errc::none);
    CHECK(ids(claim(w, from({got.jobs[0]}))) == names{"c"});
    CHECK(holders(w, m) == names{"c"});
    CHECK(waiters(w, m).empty());
  }
  SECTION("once") { CHECK(claim(w, from({a, a})).jobs.empty()); }
  audit(w);
}

ON_EACH_STORE("One step settles a start and hands on the permit of the next") {
  const auto a = first_of(w, {"a", "b", "c"});
  const auto b = only(claim(w, from({a})));
  storage::settle_request r;
  r.starts.push_back(ended(a, how::succeeded));
  r.next = claiming(from({b}));
  const auto told = ask(w, r);
  CHECK(ids(told.next) == names{"c"});
  CHECK(told.next.behind == std::vector<fence>{b.fence});
  CHECK(holders(w, m) == names{"c"});
  audit(w);
}

ON_EACH_STORE("Who ends behind a start that runs gives it the permit back") {
  const auto a = first_of(w, {"a", "b", "c"});
  const auto since = *a.started_at;
  w.clock.advance(1s);
  const auto b = only(claim(w, from({a})));
  SECTION("deleted") { CHECK(remove(w, "b").code == errc::none); }
  SECTION("failed") { CHECK(settle(w, b, how::failed) == errc::none); }
  SECTION("lost") {
    w.clock.advance(20s);
    REQUIRE(renew(w, a) == errc::none);
    w.clock.advance(11s);
    CHECK(reap(w, expired(w).leases).each == std::vector<errc>{errc::none});
    CHECK(get(w, "b").losses == 1);
  }
  CHECK(holders(w, m) == names{"a"});
  CHECK(one_throttler(w, m).holders.at(0).fence == a.fence);
  CHECK(one_throttler(w, m).holders.at(0).since == since);
  audit(w);
  beat(w, serving("s0", {"default:1"}));
  CHECK(settle(w, a) == errc::none);
  CHECK(holders(w, m) == names{"c reserved"});
  audit(w);
}

ON_EACH_STORE("Who is given back behind a start that runs waits in its old place again") {
  const auto a = first_of(w, {"a", "b", "c"});
  const auto b = only(claim(w, from({a})));
  const auto give_back = ended(b, how::given_back);
  SECTION("alone") {
    CHECK(settle(w, give_back) == errc::none);
    CHECK(get(w, "b").state == job_state::throttled);
    CHECK(get(w, "b").line == m);
    CHECK(get(w, "b").attempt == 0);
    CHECK(waiters(w, m) == names{"b", "c"});
    CHECK(holders(w, m) == names{"a"});
    audit(w);
    CHECK(settle(w, give_back) == errc::none);  // asked again
    CHECK(get(w, "b").fence.value == 0);
    CHECK(take(w, b, {m}) == "stale");
    CHECK(settle(w, a) == errc::none);
  }
  SECTION("with the start that it was behind") {
    CHECK(ask(w, storage::settle_request{{give_back, ended(a, how::succeeded)}, {}}).each ==
          std::vector<errc>{errc::none, errc::none});
  }
  CHECK(holders(w, m) == names{"b reserved"});
  CHECK(waiters(w, m) == names{"c"});
  audit(w);
}

ON_EACH_STORE("Who is given back after the start before it has ended is the first to be woken") {
  const auto a = first_of(w, {"a", "b", "c"});
  const auto b = only(claim(w, from({a})));
  SECTION("in a step of its own") {
    CHECK(settle(w, a) == errc::none);
    CHECK(settle(w, b, how::given_back) == errc::none);
  }
  SECTION("in the same step") {
    ask(w, storage::settle_request{{ended(a, how::succeeded), ended(b, how::given_back)}, {}});
  }
  CHECK(holders(w, m) == names{"b reserved"});
  CHECK(waiters(w, m) == names{"c"});
  audit(w);
}

ON_EACH_STORE("Who ends behind another for a retry waits in its queue") {
  const auto a = first_of(w, {"a", "b", "c"});
  const auto b = only(claim(w, from({a})));
  CHECK(settle(w, b, how::retry) == errc::none);
  CHECK(get(w, "b").state == job_state::enqueued);
  CHECK(holders(w, m) == names{"a"});
  audit(w);
}

ON_EACH_STORE("A start that is lost or deleted leaves the permit with who is behind it") {
  const auto a = first_of(w, {"a", "b", "c"});
  const auto b = only(claim(w, from({a})));
  SECTION("deleted") { CHECK(remove(w, "a").code == errc::none); }
  SECTION("lost") {
    w.clock.advance(20s);
    REQUIRE(renew(w, b) == errc::none);
    w.clock.advance(11s);
    CHECK(reap(w, expired(w).leases).each == std::vector<errc>{errc::none});
  }
  CHECK(holders(w, m) == names{"b"});
  CHECK(settle(w, a) == errc::stale_fence);
  CHECK(holders(w, m) == names{"b"});
  audit(w);
}

ON_EACH_STORE("When both are lost the permit is free") {
  const auto a = first_of(w, {"a", "b", "c"});
  only(claim(w, from({a})));
  lose_all(w);
  beat(w, serving("s0", {"default:1"}));
  rouse(w);
  CHECK(holders(w, m) == names{"c reserved"});
  audit(w);
}

ON_EACH_STORE("A claim hands on to whom it has just parked") {
  put_all(w, {"a", "b", "c"});
  auto words = from({});
  words.free = 1;
  const auto a = only(claim(w, words));
  words.hand_on = {start_of(a)};
  words.free = 2;
  const auto got = claim(w, words);
  CHECK(ids(got) == names{"b"});
  CHECK(got.parked == 2);
  CHECK(waiters(w, m) == names{"c"});
  audit(w);
}

ON_EACH_STORE("As many as are handed on are claimed, in the order of the line, each behind one start") {
  define(w, s, 3);
  put_all(w, {"a", "b", "c", "d", "e", "f", "g"});
  auto words = from({}, s);
  words.free = 7;
  const auto running = claim(w, words).jobs;
  REQUIRE(ids(running) == names{"a", "b", "c"});
  const auto two = claim(w, from({running[2], running[0]}, s));
  CHECK(ids(two) == names{"d", "e"});
  CHECK(two.behind == std::vector<fence>{running[2].fence, running[0].fence});
  CHECK(holders(w, s) == names{"b", "d", "e"});
  CHECK(one_throttler(w, s).about.held == 3);
  CHECK(waiters(w, s) == names{"f", "g"});
  audit(w);
}

ON_EACH_STORE("A claim with hand-over that is asked again tells again who is behind whom") {
  const auto a = first_of(w, {"a", "b"});
  auto words = from({a});
  words.op = 1'000'000;
  const auto first = claim(w, words), again = claim(w, words);
  CHECK(ids(first) == names{"b"});
  CHECK(ids(again) == ids(first));
  CHECK(again.behind == first.behind);
  CHECK(again.admitted == first.admitted);
  CHECK(holders(w, m) == names{"b"});
  audit(w);
}

ON_EACH_STORE("Nothing is handed on to who could not begin at once when that start ends") {
  const auto a = first_of(w, {"a", "b"});
  auto words = from({a});
  SECTION("from a start that is no more") { words.hand_on[0].fence.value -= 1; }
  SECTION("from a start of another queue") { words.queue = "other"; }
  SECTION("in a paused queue") { pause(w, "default"); }
  SECTION("whose type this server does not know") { words.types = "mail"; }
  SECTION("whose type starts at once or not at all") { words.at_once = "work"; }
  SECTION("of whom more is asked") { words.permits = from({}, m, false).permits; }
  SECTION("who needs another permit too") { words.permits = {{"work", {{m, "mutex:n"}, true, true}}}; }
  SECTION("while somebody of another queue waits longer") {
    CHECK(remove(w, "b").code == errc::none);
    parked(w, "elsewhere", {m}, "other");
    put_all(w, {"c"});
    auto more = from({});
    more.free = 1;
    CHECK(claim(w, more).parked == 1);
  }
  SECTION("whose start was lost once") {
    CHECK(remove(w, "b").code == errc::none);
    lose_all(w);
    words.hand_on = {start_of(first_of(w, {"c"}))};
    CHECK(take(w, only(claim(w, {.suspect_too = true})), {m}) == "parked " + m);
  }
  CHECK(claim(w, words).jobs.empty());
  audit(w);
}

ON_EACH_STORE("Above its limit a semaphore hands on nothing") {
  define(w, s, 2);
  put_all(w, {"a", "b", "c"});
  auto words = from({}, s);
  words.free = 3;
  const auto running = claim(w, words).jobs;
  REQUIRE(running.size() == 2);
  define(w, s, 1);
  CHECK(claim(w, from(running, s)).jobs.empty());
  CHECK(settle(w, running[0]) == errc::none);
  CHECK(ids(claim(w, from({running[1]}, s))) == names{"c"});
  CHECK(one_throttler(w, s).about.held == 1);
  audit(w);
}

ON_EACH_STORE("What was handed on before a limit was lowered is kept") {
  define(w, s, 2);
  put_all(w, {"a", "b", "c", "d"});
  auto words = from({}, s);
  words.free = 4;
  const auto running = claim(w, words).jobs;
  const auto heirs = claim(w, from(running, s)).jobs;
  REQUIRE(ids(heirs) == names{"c", "d"});
  define(w, s, 1);
  CHECK(settle(w, running[0]) == errc::none);
  CHECK(holders(w, s) == names{"c", "d"});
  CHECK(settle(w, heirs[0]) == errc::none);
  CHECK(holders(w, s) == names{"d"});
  audit(w);
}

ON_EACH_STORE("A woken job that has all it needs hands on its permit like any other") {
  const auto a = first_of(w, {"a", "b", "c"});
  CHECK(settle(w, a) == errc::none);
  REQUIRE(holders(w, m) == names{"b reserved"});
  auto words = from({});
  words.free = 1;
  const auto b = only(claim(w, words));
  CHECK(b.id.value == "b");
  CHECK(holders(w, m) == names{"b"});
  audit(w);
  CHECK(ids(claim(w, from({b}))) == names{"c"});
  audit(w);
}

ON_EACH_STORE("Who asks for more behind a start has what it got as its own") {
  const auto a = first_of(w, {"a", "b", "c"});
  const auto b = only(claim(w, from({a})));
  CHECK(take(w, b, {m}) == "granted");
  CHECK(take(w, b, {m, "mutex:n"}) == "granted");
  CHECK(settle(w, b, how::given_back) == errc::none);
  CHECK(get(w, "b").line == "woken");
  CHECK(holders(w, m) == names{"c reserved"});
  audit(w);
}
