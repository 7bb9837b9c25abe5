// How long a run is held, and how it is taken away.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

ON_EACH_STORE("A renewed run is held for another lease from now") {
  put_all(w, {"a"});
  const auto running = claim_one(w, {.lease = 30s});
  w.clock.advance(20s);
  CHECK(renew(w, running, 30s) == errc::none);
  CHECK(get(w, "a").lease_until == w.clock.now() + 30s);
  w.clock.advance(20s);
  CHECK(expired(w).leases.empty());
  CHECK(renew(w, running, 5s) == errc::none);
  CHECK(get(w, "a").lease_until == w.clock.now() + 5s);
  CHECK(get(w, "a").fence == running.fence);
  w.clock.advance(1h);
  CHECK(renew(w, running) == errc::none);  // late, but nobody has taken it
  CHECK(settle(w, running) == errc::none);
  audit(w);
}

ON_EACH_STORE("A renewal is refused for whoever holds the job no more, and changes nothing") {
  put_all(w, {"a"});
  const auto old = claim_one(w);
  SECTION("settled") { REQUIRE(settle(w, old) == errc::none); }
  SECTION("given back") { REQUIRE(settle(w, old, how::given_back) == errc::none); }
  SECTION("lost") { lose_all(w); }
  SECTION("deleted by hand") { REQUIRE(remove(w, "a").code == errc::none); }
  SECTION("lost and claimed by another") {
    lose_all(w);
    REQUIRE(claim(w, {.allow_suspect = true, .server = "s2"}).jobs.size() == 1);
  }
  const auto before = portrait(w);
  CHECK(renew(w, old) == errc::stale_fence);
  CHECK(portrait(w) == before);
  audit(w);
}

ON_EACH_STORE("Of many renewals each is carried out or refused alone") {
  put_all(w, {"a", "b", "c"});
  const auto got = claim(w, {.free = 3});
  REQUIRE(settle(w, got.jobs[1].job) == errc::none);
  w.clock.advance(10s);
  storage::renew_request r{
      {run_of(got.jobs[0].job), run_of(got.jobs[1].job), {job_id("nobody"), fence{7}}, run_of(got.jobs[2].job)}, 60s};
  CHECK(ask(w, r).each == std::vector{errc::none, errc::stale_fence, errc::stale_fence, errc::none});
  CHECK(get(w, "a").lease_until == w.clock.now() + 60s);
  CHECK(get(w, "c").lease_until == w.clock.now() + 60s);
}

ON_EACH_STORE("Leases that ran out are told of, and looking changes nothing") {
  put_all(w, {"a", "b"});
  REQUIRE(put(w, {.id = "c", .queue = "other"}) == errc::none);
  CHECK_FALSE(expired(w).next_in.has_value());
  const auto a = claim_one(w, {.lease = 10s});
  const auto b = claim_one(w, {.lease = 20s});
  const auto c = claim_one(w, {.queue = "other", .lease = 30s});
  CHECK(expired(w).leases.empty());
  CHECK(expired(w).next_in == duration(10s));
  REQUIRE(renew(w, a, 12s) == errc::none);
  w.clock.advance(12s - 1us);
  CHECK(expired(w).leases.empty());
  CHECK(expired(w).next_in == duration(1us));
  w.clock.advance(1us);
  const auto before = portrait(w);
  const auto told = expired(w);
  REQUIRE(told.leases.size() == 1);
  CHECK(told.leases[0].run.id == a.id);
  CHECK(told.leases[0].run.fence == a.fence);
  CHECK(told.leases[0].renewals == 1);
  CHECK(told.leases[0].lease == 12s);
  CHECK_FALSE(told.leases[0].clock_went_back);
  CHECK(told.next_in == duration(8s));
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  w.clock.advance(1min);
  CHECK(expired(w).leases.size() == 3);
  CHECK_FALSE(expired(w).next_in.has_value());
  CHECK(settle(w, b) == errc::none);  // nobody took it away
  CHECK(settle(w, c) == errc::none);
  CHECK(expired(w).leases.size() == 1);
  audit(w);
}

ON_EACH_STORE("At most as many leases are told of as were asked for") {
  put_all(w, {"a", "b", "c"});
  REQUIRE(put(w, {.id = "d", .queue = "other"}) == errc::none);
  claim(w, {.free = 3});
  claim(w, {.queue = "other"});
  w.clock.advance(1h);
  CHECK(ask(w, storage::expired_request{2}).leases.size() == 2);
}

ON_EACH_STORE("Leases from before the clock was set back are told of") {
  put_all(w, {"a", "b"});
  const auto old = claim_one(w, {.lease = 30s});
  w.clock.advance(-1h);
  const auto now = claim_one(w, {.lease = 30s});
  const auto told = expired(w);
  REQUIRE(told.leases.size() == 1);
  CHECK(told.leases[0].run.id == old.id);
  CHECK(told.leases[0].clock_went_back);
  CHECK(renew(w, old) == errc::none);  // its server lives, and it is all right again
  CHECK(expired(w).leases.empty());
  CHECK(renew(w, now) == errc::none);
  audit(w);
}

ON_EACH_STORE("A clock that stepped back a little takes nobody's lease") {
  put_all(w, {"a"});
  claim_one(w);
  w.clock.advance(-500ms);
  CHECK(expired(w).leases.empty());
}

ON_EACH_STORE("A run is taken away only when its renewals are still those seen") {
  put_all(w, {"a"});
  const auto running = claim_one(w);
  w.clock.advance(1min);
  const auto seen = expired(w).leases;
  REQUIRE(seen.size() == 1);
  SECTION("it renewed in between") {
    REQUIRE(renew(w, running, 1us) == errc::none);
    w.clock.advance(1s);  // it even ran out again
    const auto before = portrait(w);
    CHECK(reap(w, seen).each == std::vector{errc::stale_fence});
    CHECK(portrait(w) == before);
    CHECK(settle(w, running) == errc::none);
  }
  SECTION("it ended in between") {
    REQUIRE(settle(w, running) == errc::none);
    CHECK(reap(w, seen).each == std::vector{errc::stale_fence});
    CHECK(get(w, "a").state == job_state::succeeded);
  }
  SECTION("it ended, and another start is running") {
    REQUIRE(settle(w, running, how::retry) == errc::none);
    const auto newer = claim_one(w);
    CHECK(reap(w, seen).each == std::vector{errc::stale_fence});
    CHECK(settle(w, newer) == errc::none);
  }
  SECTION("it did not") {
    CHECK(reap(w, seen).each == std::vector{errc::none});
    CHECK(w.store().made_work());
    const auto before = portrait(w);
    CHECK(reap(w, seen).each == std::vector{errc::stale_fence});  // once
    CHECK(portrait(w) == before);
  }
  audit(w);
}

ON_EACH_STORE("A lost run is a loss, uses no attempt and sends its job to the tail, the second as a suspect") {
  put_all(w, {"a", "b"});
  REQUIRE(settle(w, claim_one(w), how::given_back) == errc::none);
  const auto running = claim_one(w);
  REQUIRE(running.id == job_id("a"));
  lose_all(w);
  const auto lost = get(w, "a");
  CHECK(lost.state == job_state::enqueued);
  CHECK(lost.line == "");
  CHECK(lost.losses == 1);
  CHECK(lost.attempt == 0);
  CHECK(lost.reason.find("lost") != std::string::npos);
  CHECK(lost.history.back().cause == "lost");
  CHECK(lost.history.back().fence == running.fence);
  CHECK_FALSE(lost.history.back().error.empty());
  const auto got = claim(w, {.free = 2});
  CHECK(ids(got) == names{"b", "a"});
  CHECK(got.jobs.at(1).job.attempt == 1);
  CHECK(got.jobs.at(1).failures == 0);
  lose_all(w);
  CHECK(get(w, "a").line == "suspect");
  CHECK(get(w, "a").losses == 2);
  audit(w);
}

ON_EACH_STORE("A beat tells whether the server was known") {
  const auto server = serving("s1", {"default:4"});
  CHECK_FALSE(beat(w, server));
  CHECK(beat(w, server));
  leave(w, server.id);
  CHECK_FALSE(beat(w, server));
}

ON_EACH_STORE("A job that loses its run too often is failed as lost") {
  put_all(w, {"a"});
  for (std::uint32_t i = 1; i <= 3; ++i) {
    CHECK(get(w, "a").state == job_state::enqueued);
    claim_one(w, {.allow_suspect = true});
    w.clock.advance(31s);
    const auto told = reap(w, expired(w).leases, 3);
    CHECK(told.each == std::vector{errc::none});
    CHECK(told.failed == (i == 3 ? std::vector{job_id("a")} : std::vector<job_id>()));
    CHECK(get(w, "a").losses == i);
  }
  const auto over = get(w, "a");
  CHECK(over.state == job_state::failed);
  CHECK(over.history.back().cause == "lost");
  CHECK(over.reason.find("lost") != std::string::npos);
  CHECK(over.finished_at == w.clock.now());
  CHECK(over.history.size() == 3);
  CHECK(claim(w, {.free = 9, .allow_suspect = true}).jobs.empty());
  audit(w);
}

ON_EACH_STORE("A suspect that runs, fails and is retried waits as a suspect") {
  put_suspect(w, "x");
  REQUIRE(settle(w, claim_one(w, {.allow_suspect = true}), how::retry, 5s) == errc::none);
  w.clock.advance(5s);
  REQUIRE(promote(w).moved == 1);
  CHECK(get(w, "x").line == "suspect");
  CHECK(claim(w).jobs.empty());
  REQUIRE(settle(w, claim_one(w, {.allow_suspect = true}), how::retry) == errc::none);
  CHECK(get(w, "x").line == "suspect");
  CHECK(get(w, "x").losses == 2);
  audit(w);
}

ON_EACH_STORE("Many lost runs are taken away in one request, each for itself") {
  put_all(w, {"a", "b", "c"});
  const auto got = claim(w, {.free = 3});
  w.clock.advance(1min);
  auto seen = expired(w).leases;
  REQUIRE(seen.size() == 3);
  REQUIRE(settle(w, got.jobs[1].job) == errc::none);
  seen.push_back({{job_id("nobody"), fence{3}}, 0, 30s, false});
  CHECK(reap(w, seen).each == std::vector{errc::none, errc::stale_fence, errc::none, errc::stale_fence});
  CHECK(counts(w).enqueued == 2);
  CHECK(counts(w).succeeded == 1);
  audit(w);
}
