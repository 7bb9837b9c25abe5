// How a run ends, once.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

ON_EACH_STORE("A settled run leaves its job where the outcome says") {
  put_all(w, {"a"});
  const auto running = claim_one(w);
  w.clock.advance(3s);
  auto end = ended(running, how::succeeded);
  end.waited = 1s;
  SECTION("succeeded, with its result") {
    REQUIRE(settle(w, end) == errc::none);
    CHECK_FALSE(w.store().made_work());
    const auto after = get(w, "a");
    CHECK(after.state == job_state::succeeded);
    CHECK(after.result == "42");
    CHECK(after.finished_at == w.clock.now());
    CHECK(after.history.at(0).error.empty());
  }
  SECTION("failed, with why") {
    end = ended(running, GENERATE(how::failed, how::given_up));
    end.waited = 1s;
    REQUIRE(settle(w, end) == errc::none);
    const auto after = get(w, "a");
    CHECK(after.state == job_state::failed);
    CHECK(after.result.empty());
    CHECK(after.finished_at == w.clock.now());
    CHECK(after.history.at(0).error == "it broke");
  }
  SECTION("deleted") {
    end.end = how::removed;
    REQUIRE(settle(w, end) == errc::none);
    CHECK(get(w, "a").state == job_state::deleted);
  }
  SECTION("scheduled, to be tried again later") {
    end.end = how::retry;
    end.delay = 10s;
    REQUIRE(settle(w, end) == errc::none);
    CHECK(w.store().made_work());  // somebody must wake for it
    CHECK(get(w, "a").state == job_state::scheduled);
    CHECK(get(w, "a").due_at == w.clock.now() + 10s);
  }
  const auto after = get(w, "a");
  CHECK(after.attempt == 1);
  CHECK(after.reason == "because");
  CHECK(after.fence == running.fence);
  REQUIRE(after.history.size() == 1);
  CHECK(after.history[0].fence == running.fence);
  CHECK(after.history[0].attempt == 1);
  CHECK(after.history[0].cause == end.cause);
  CHECK(after.history[0].server == "s1");
  CHECK(after.history[0].started == w.clock.now() - 2s);
  CHECK(after.history[0].ended == w.clock.now());
  audit(w);
}

ON_EACH_STORE("The record of a run tells its end in codes") {
  put_all(w, {"a", "b"});
  auto off = ended(claim_one(w), how::deferred, 10s);
  off.throttler = "semaphore:api";
  REQUIRE(settle(w, off) == errc::none);
  auto failed = ended(claim_one(w), how::retry, 10s);
  failed.watched.push_back({"REDIS", "Save", 1, 0, 5ms, 5ms});
  REQUIRE(settle(w, failed) == errc::none);
  const auto a = get(w, "a").history.at(0), b = get(w, "b").history.at(0);
  CHECK(a.end == how::deferred);
  CHECK_FALSE(a.failure);
  CHECK(a.throttler == "semaphore:api");
  CHECK(b.end == how::retry);
  CHECK(b.failure);
  CHECK(b.throttler.empty());
  CHECK(b.watched.size() == 1);
  CHECK(explain(w, "a").failures == 0);
  CHECK(explain(w, "b").failures == 1);
  w.clock.advance(11s);
  promote(w);
  REQUIRE(claim(w, {.free = 2}).jobs.size() == 2);
  lose_all(w);
  CHECK_FALSE(get(w, "a").history.back().end.has_value());  // nobody said how
  audit(w);
}

ON_EACH_STORE("The record of a run says when its handler began, however late its end is told") {
  put_all(w, {"a", "b"});
  const auto claimed = w.clock.now();
  auto end = ended(claim_one(w), how::succeeded);
  end.ran = 2s;
  end.waited = 1s;
  w.clock.advance(20s);
  REQUIRE(settle(w, end) == errc::none);
  CHECK(get(w, "a").history.at(0).started == claimed + 1s);
  auto never_begun = ended(claim_one(w), how::given_back);
  never_begun.waited = 1h;  // no handler begins after its end was told
  REQUIRE(settle(w, never_begun) == errc::none);
  CHECK(get(w, "b").history.at(0).started == w.clock.now());
  audit(w);
}

ON_EACH_STORE("A job given back goes first and has used no attempt") {
  put_all(w, {"a", "b"});
  const auto running = claim_one(w);
  REQUIRE(settle(w, running, how::given_back) == errc::none);
  CHECK(w.store().made_work());
  const auto back = get(w, "a");
  CHECK(back.state == job_state::enqueued);
  CHECK(back.line == "front");
  CHECK(back.attempt == 0);
  const auto again = claim_one(w);
  CHECK(again.id == running.id);
  CHECK(again.attempt == 1);
  CHECK(again.fence > running.fence);
  audit(w);
}

ON_EACH_STORE("A job that was deferred is scheduled again and has used no attempt") {
  put_all(w, {"a"});
  REQUIRE(settle(w, claim_one(w), how::deferred, 15s) == errc::none);
  const auto waiting = get(w, "a");
  CHECK(waiting.state == job_state::scheduled);
  CHECK(waiting.attempt == 0);
  CHECK(waiting.due_at == w.clock.now() + 15s);
  CHECK(waiting.history.size() == 1);
  w.clock.advance(15s);
  CHECK(promote(w).moved == 1);
  CHECK(claim_one(w).attempt == 1);
  audit(w);
}

ON_EACH_STORE("A suspect given back is a suspect still") {
  put_suspect(w, "x");
  REQUIRE(settle(w, claim_one(w, {.allow_suspect = true}), how::given_back) == errc::none);
  CHECK(get(w, "x").line == "suspect");
  CHECK(get(w, "x").losses == 2);
  CHECK(claim(w, {.free = 5}).jobs.empty());
  CHECK(ids(claim(w, {.free = 5, .allow_suspect = true})) == names{"x"});
  audit(w);
}

ON_EACH_STORE("A retry without delay goes to the tail, and its failures are counted") {
  put_all(w, {"a", "b"});
  REQUIRE(settle(w, claim_one(w), how::retry) == errc::none);
  CHECK(w.store().made_work());
  CHECK(get(w, "a").line.empty());
  auto got = claim(w, {.free = 2});
  REQUIRE(ids(got) == names{"b", "a"});
  CHECK(got.jobs[1].job.attempt == 2);
  CHECK(failures(got) == std::vector<std::uint32_t>{0, 1});

  auto snooze = ended(got.jobs[1].job, how::retry);
  snooze.failure = false;
  REQUIRE(settle(w, snooze) == errc::none);
  got = claim(w);
  CHECK(failures(got) == std::vector<std::uint32_t>{1});
  CHECK(got.jobs.at(0).job.attempt == 3);
  audit(w);
}

ON_EACH_STORE("A retry with delay is scheduled, and promoted to the tail when due") {
  put_all(w, {"a"});
  REQUIRE(settle(w, claim_one(w), how::retry, 10s) == errc::none);
  put_all(w, {"b"});
  w.clock.advance(10s - 1us);
  CHECK(promote(w).moved == 0);
  w.clock.advance(1us);
  CHECK(promote(w).moved == 1);
  const auto got = claim(w, {.free = 2});
  CHECK(ids(got) == names{"b", "a"});
  CHECK(failures(got) == std::vector<std::uint32_t>{0, 1});
  audit(w);
}

ON_EACH_STORE_AND_FILE("A settle asked again answers as the first time and changes nothing") {
  put_all(w, {"a"});
  const auto running = claim_one(w);
  const auto end = GENERATE(how::succeeded, how::failed, how::removed, how::retry, how::given_back, how::deferred);
  const auto delay = GENERATE(duration(0s), duration(5s));
  REQUIRE(settle(w, running, end, delay) == errc::none);
  const auto before = portrait(w);
  CHECK(settle(w, running, end, delay) == errc::none);
  w.clock.advance(2s);
  CHECK(settle(w, running, end, delay) == errc::none);
  if (w.survives_reopen) w.reopen();
  CHECK(settle(w, running, end, delay) == errc::none);
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  audit(w);
}

ON_EACH_STORE("A settle asked again leaves the job's next run alone") {
  put_all(w, {"a"});
  const auto first = claim_one(w);
  REQUIRE(settle(w, first, how::retry) == errc::none);
  const auto second = claim_one(w, {.server = "s2"});
  const auto before = portrait(w);
  CHECK(settle(w, first, how::retry) == errc::none);
  CHECK(portrait(w) == before);
  CHECK(settle(w, second) == errc::none);
  CHECK(settle(w, first, how::retry) == errc::stale_fence);
  CHECK(get(w, "a").state == job_state::succeeded);
  audit(w);
}

ON_EACH_STORE("An old run is refused once there is a newer one, and changes nothing") {
  put_all(w, {"a"});
  const auto old = claim_one(w);
  lose_all(w);
  const auto end = GENERATE(how::succeeded, how::failed, how::removed, how::retry, how::given_back, how::deferred);
  auto before = portrait(w);
  CHECK(settle(w, old, end) == errc::stale_fence);  // not running at all
  CHECK(portrait(w) == before);
  const auto newer = claim_one(w, {.allow_suspect = true, .server = "s2"});
  CHECK(newer.fence > old.fence);
  before = portrait(w);
  CHECK(settle(w, old, end) == errc::stale_fence);
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  CHECK(settle(w, newer) == errc::none);
  before = portrait(w);
  CHECK(settle(w, old, end) == errc::stale_fence);
  CHECK(portrait(w) == before);
  audit(w);
}

ON_EACH_STORE("A run that never was is refused") {
  put_all(w, {"a"});
  auto running = claim_one(w);
  const auto before = portrait(w);
  ++running.fence.value;
  CHECK(settle(w, running) == errc::stale_fence);
  running.fence.value = 0;
  CHECK(settle(w, running) == errc::stale_fence);
  running.id = job_id("nobody");
  CHECK(settle(w, running) == errc::stale_fence);
  CHECK(portrait(w) == before);
}

ON_EACH_STORE("A job that was never started is not settled by the fence of no run") {
  put_all(w, {"a"});
  CHECK(settle(w, get(w, "a")) == errc::stale_fence);
  CHECK(get(w, "a").state == job_state::enqueued);
}

ON_EACH_STORE("Of many settlements each is carried out or refused alone") {
  put_all(w, {"a", "b", "c"});
  const auto got = claim(w, {.free = 3});
  REQUIRE(settle(w, got.jobs[0].job) == errc::none);
  auto stale = got.jobs[1].job;
  stale.fence.value = 1;
  storage::settle_request r;
  r.runs = {ended(got.jobs[0].job, how::succeeded), ended(stale, how::failed), ended(got.jobs[2].job, how::failed),
            ended(got.jobs[2].job, how::failed), ended(got.jobs[1].job, how::succeeded)};
  CHECK(ask(w, r).each == std::vector{errc::none, errc::stale_fence, errc::none, errc::none, errc::none});
  CHECK(get(w, "b").state == job_state::succeeded);
  CHECK(get(w, "c").state == job_state::failed);
  CHECK(get(w, "c").history.size() == 1);
  audit(w);
}

ON_EACH_STORE("A settle may claim in the same step, and both can be asked again") {
  put_all(w, {"a", "b", "c"});
  const auto first = claim_one(w);
  const storage::settle_request r{{ended(first, how::given_back)}, claiming({.free = 2})};
  const auto answer = ask(w, r);
  CHECK(answer.each == std::vector{errc::none});
  REQUIRE(ids(answer.next) == names{"a", "b"});  // it sees what was settled
  CHECK(answer.next.jobs.size() == 2);
  const auto before = portrait(w);
  const auto again = ask(w, r);
  CHECK(again.each == std::vector{errc::none});
  CHECK(ids(again.next) == names{"a", "b"});
  CHECK(again.next.jobs[0].job.fence == answer.next.jobs[0].job.fence);
  CHECK(portrait(w) == before);
  audit(w);
}

ON_EACH_STORE("The history keeps the last twenty runs") {
  put_all(w, {"a"});
  fence last;
  for (int i = 0; i < 25; ++i) {
    const auto running = claim_one(w);
    CHECK(running.attempt == static_cast<std::uint32_t>(i) + 1);
    last = running.fence;
    REQUIRE(settle(w, running, how::retry) == errc::none);
  }
  const auto after = get(w, "a");
  REQUIRE(after.history.size() == 20);
  CHECK(after.history.front().attempt == 6);
  CHECK(after.history.back().attempt == 25);
  CHECK(after.history.back().fence == last);
  CHECK(failures(claim(w)) == std::vector<std::uint32_t>{25});  // counted beyond the history
  audit(w);
}

ON_EACH_STORE_AND_FILE("Fences grow, whatever the clock does and across reopening") {
  put_all(w, {"a"});
  fence last;
  for (const duration step : {duration(0s), duration(-2h), duration(0s), duration(5h), duration(-100h), duration(1s)}) {
    w.clock.advance(step);
    const auto running = claim_one(w);
    CHECK(running.fence > last);
    last = running.fence;
    REQUIRE(settle(w, running, how::retry) == errc::none);
    if (w.survives_reopen) w.reopen();
  }
  CHECK(last.value < (1ULL << 53));
}
