// Jobs that must begin or be over in time. The names of the scenarios begin with the corner cases that they are about.
#include "storage/flow_words.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

struct time_words {
  std::optional<duration> start{}, finish{};
  duration delay{0};
  names after{};
};
prepared_job timed(const std::string& id, const time_words& words) {
  return changed({.id = id, .delay = words.delay}, [&](prepared_job& j) {
    flow_of(j).start_within = words.start;
    flow_of(j).finish_within = words.finish;
    for (const auto& parent : words.after)
      flow_of(j).after.parents.emplace_back(parent);
  });
}
void put_timed(world& w, const std::string& id, const time_words& words) {
  REQUIRE(put_jobs(w, {timed(id, words)}).each.at(0) == errc::none);
}
void pass(world& w, duration time) {
  w.clock.advance(time);
  work_off(w);
}
std::string how_it_ended(world& w, const std::string& id) {
  const auto job = get(w, id);
  return cat(name_of(job.state), ", ", job.history.empty() ? "" : job.history.back().cause);
}

}  // namespace

ON_EACH_STORE("exp-1 The time to start counts from when a job is due or released, until it is claimed") {
  put_timed(w, "later", {.start = 1h, .delay = 1h});
  CHECK(promote(w).next_in == std::optional<duration>(1h));
  pass(w, 2h - 1us);
  CHECK(state(w, "later") == job_state::enqueued);
  audit(w);
  pass(w, 1us);
  CHECK(how_it_ended(w, "later") == "deleted, expired");
  CHECK(get(w, "later").reason == "it did not start within 3600 s");
  audit(w);

  put_timed(w, "claimed", {.start = 1min});
  const auto claimed = claim_one(w);
  pass(w, 1h);
  CHECK(state(w, "claimed") == job_state::processing);
  audit(w);
  REQUIRE(settle(w, claimed, how::retry, 1h) == errc::none);
  pass(w, 1h);
  CHECK(state(w, "claimed") == job_state::enqueued);  // it had begun
  audit(w);
}

ON_EACH_STORE("exp-1 A start that came to nothing does not stop the time to start, and a lost one does") {
  put_timed(w, "back", {.start = 1min});
  REQUIRE(settle(w, claim_one(w), how::given_back) == errc::none);
  audit(w);
  pass(w, 1min);
  CHECK(how_it_ended(w, "back") == "deleted, expired");
  put_timed(w, "late", {.start = 1min});
  const auto late = claim_one(w);
  pass(w, 2min);
  REQUIRE(settle(w, late, how::deferred) == errc::none);
  audit(w);
  work_off(w);
  CHECK(how_it_ended(w, "late") == "deleted, expired");
  put_timed(w, "lost", {.start = 1min});
  (void)claim_one(w);
  lose_all(w);
  pass(w, 1h);
  CHECK(state(w, "lost") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE(
    "exp-2 What waits ends wherever it does: in a paused queue, behind others, at a throttler, by a reserved permit") {
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  const auto holder = holding(w, "holder", {"semaphore:s"});
  put_timed(w, "parked", {.start = 1min});
  REQUIRE(take(w, claim_one(w), {"semaphore:s"}).starts_with("parked "));
  (void)parked(w, "next", {"semaphore:s"});
  put_all(w, {"before"});
  put_timed(w, "behind", {.start = 1min});
  pause(w, "default");
  pass(w, 1min);
  CHECK(how_it_ended(w, "parked") == "deleted, expired");
  CHECK(how_it_ended(w, "behind") == "deleted, expired");
  CHECK(waiters(w, "semaphore:s") == names{"next"});
  audit(w);
  pause(w, "default", false);

  put_timed(w, "woken", {.start = 1min});
  end(w, "before");
  REQUIRE(take(w, claim_one(w), {"semaphore:s"}).starts_with("parked "));
  REQUIRE(remove(w, "next").code == errc::none);
  REQUIRE(settle(w, holder) == errc::none);  // the permit is reserved for it now
  CHECK(holders(w, "semaphore:s").size() == 1);
  w.clock.advance(1min);
  CHECK(claim(w).jobs.empty());
  CHECK(how_it_ended(w, "woken") == "deleted, expired");
  CHECK(holders(w, "semaphore:s").empty());
  audit(w);
}

ON_EACH_STORE("exp-2 While a job awaits others no time to start runs") {
  put_all(w, {"p"});
  put_timed(w, "c", {.start = 1min, .after = {"p"}});
  pass(w, 1h);
  CHECK(state(w, "c") == job_state::awaiting);
  audit(w);
  end(w, "p");
  pass(w, 1min - 1us);
  CHECK(state(w, "c") == job_state::enqueued);
  audit(w);
  pass(w, 1us);
  CHECK(how_it_ended(w, "c") == "deleted, expired");
  audit(w);
}

ON_EACH_STORE("exp-3 A claim starts none whose time is over, when nobody has looked yet") {
  put_timed(w, "a", {.start = 1min});
  put_timed(w, "b", {.finish = 1min});
  put_all(w, {"c"});
  w.clock.advance(1min);
  CHECK(ids(claim(w, {.free = 3})) == names{"c"});
  CHECK(how_it_ended(w, "a") == "deleted, expired");
  CHECK(how_it_ended(w, "b") == "failed, deadline");
  CHECK(counts(w).failed == 1);
  audit(w);
}

ON_EACH_STORE(
    "exp-4 What is left of the time to finish is told with the claim, and a retry that is too late is not made") {
  put_timed(w, "a", {.finish = 10min});
  w.clock.advance(4min);
  const auto got = claim(w, {.free = 1, .op = 77});
  REQUIRE(got.jobs.size() == 1);
  CHECK(got.jobs[0].finish_in == std::optional<duration>(6min));
  CHECK(claim(w, {.free = 1, .op = 77}).jobs.at(0).finish_in == std::optional<duration>(6min));
  w.clock.advance(1min);
  REQUIRE(settle(w, got.jobs[0].job, how::retry, 1min) == errc::none);
  CHECK(state(w, "a") == job_state::scheduled);
  audit(w);
  pass(w, 1min);
  const auto again = claim_one(w);
  REQUIRE(settle(w, again, how::retry, 5min) == errc::none);
  CHECK(how_it_ended(w, "a") == "failed, deadline");
  CHECK(get(w, "a").history.back().error == "it broke");
  CHECK(get(w, "a").reason == "failed: a retry would begin later than 600 s after its enqueue");
  audit(w);

  put_timed(w, "stopped", {.finish = 10min});
  const auto stopped = claim_one(w);
  w.clock.advance(10min);
  REQUIRE(settle(w, stopped, how::retry, 1min) == errc::none);
  CHECK(how_it_ended(w, "stopped") == "failed, deadline");
  CHECK(get(w, "stopped").reason == "failed: it was not over within 600 s");
  audit(w);

  put_timed(w, "waits", {.finish = 10min, .delay = 9min});
  pass(w, 9min);
  CHECK(state(w, "waits") == job_state::enqueued);
  pass(w, 1min);
  CHECK(how_it_ended(w, "waits") == "failed, deadline");
  audit(w);
}

ON_EACH_STORE("exp-4 A run that is lost behind the deadline is not run again") {
  put_timed(w, "a", {.finish = 10s});
  (void)claim_one(w);
  lose_all(w);
  audit(w);
  work_off(w);
  CHECK(how_it_ended(w, "a") == "failed, deadline");
  audit(w);
}

ON_EACH_STORE("exp-5 What comes too late is stored as ended, so that its group and its children see it") {
  REQUIRE(create(w, "g").code == errc::none);
  auto late = timed("late", {.finish = 0s});
  flow_of(late).group = "g"_group;
  REQUIRE(put_jobs(w, {late}).each.at(0) == errc::none);
  CHECK(how_it_ended(w, "late") == "failed, deadline");
  CHECK(group_in_words(w, "g") == "0 open, 0 succeeded, 1 failed, 0 deleted");
  put_timed(w, "unwanted", {.start = 0s});
  CHECK(how_it_ended(w, "unwanted") == "deleted, expired");
  put_timed(w, "told", {.after = {"late"}});
  CHECK(state(w, "told") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("exp-6 When the clock leaps ahead what it expired stays so; when it goes back the rest ends later") {
  put_timed(w, "a", {.start = 1min});
  put_timed(w, "b", {.start = 3min});
  pass(w, 2min);
  CHECK(state(w, "a") == job_state::deleted);
  w.clock.advance(-2min);
  work_off(w);
  CHECK(state(w, "a") == job_state::deleted);
  pass(w, 2min);
  CHECK(state(w, "b") == job_state::enqueued);
  pass(w, 1min);
  CHECK(state(w, "b") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("exp-8 By a person's requeue the times count again") {
  put_timed(w, "a", {.start = 1min, .finish = 1h});
  pass(w, 1min);
  REQUIRE(requeue(w, "a").code == errc::none);
  audit(w);
  pass(w, 1min - 1us);
  CHECK(state(w, "a") == job_state::enqueued);
  CHECK(explain(w, "a").start_by == std::optional(w.clock.now() + 1us));
  pass(w, 1us);
  CHECK(how_it_ended(w, "a") == "deleted, expired");
  audit(w);
}

ON_EACH_STORE("exp: many at one instant end in short steps, and none of them starts") {
  for (int part = 0; part < 10; ++part) {
    std::vector<prepared_job> some;
    for (int i = 0; i < 100; ++i)
      some.push_back(timed(cat(part, "-", i), {.start = 1min}));
    put_jobs(w, some);
  }
  w.clock.advance(1min);
  const auto steps = work_off(w);
  CHECK(steps >= 4);
  CHECK(counts(w).deleted == 1000);
  audit(w);
}

ON_EACH_STORE("exp-1 The time to start goes on when it is over while a throttler does not let the job in") {
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  (void)holding(w, "holder", {"semaphore:s"});
  put_timed(w, "a", {.start = 1min});
  const auto a = claim_one(w);
  pass(w, 1min);
  REQUIRE(take(w, a, {"semaphore:s"}).starts_with("parked "));
  audit(w);
  work_off(w);
  CHECK(how_it_ended(w, "a") == "deleted, expired");
  audit(w);
}

ON_EACH_STORE(
    "exp-3 A job that is released by the end of a run does not start by the claim in its step, when its time is over") {
  put_all(w, {"p"});
  put_timed(w, "c", {.finish = 1min, .after = {"p"}});
  const auto p = claim_one(w);
  w.clock.advance(1min);
  const auto told = ask(w, storage::settle_request{{ended(p, how::succeeded)}, claiming({.free = 1})});
  CHECK(told.next.jobs.empty());
  CHECK(how_it_ended(w, "c") == "failed, deadline");
  audit(w);
}

ON_EACH_STORE("exp-4 The time to finish of a child goes on when it awaits its parent again") {
  put_all(w, {"p"});
  put_timed(w, "c", {.finish = 1h, .after = {"p"}});
  end(w, "p", how::failed);
  CHECK(state(w, "c") == job_state::deleted);
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(state(w, "c") == job_state::awaiting);
  audit(w);
  pass(w, 1h);
  CHECK(how_it_ended(w, "c") == "failed, deadline");
}

ON_EACH_STORE("exp-5 A child that must start at once ends when nobody does that at its release") {
  put_all(w, {"p"});
  put_timed(w, "c", {.start = 0s, .after = {"p"}});
  end(w, "p");
  pass(w, 1us);
  CHECK(how_it_ended(w, "c") == "deleted, expired");
  audit(w);
}

ON_EACH_STORE("exp-2 A job that was claimed when its time was over and is parked then ends") {
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  (void)holding(w, "holder", {"semaphore:s"});
  put_timed(w, "a", {.start = 10s});
  const auto a = claim_one(w);
  pass(w, 11s);
  CHECK(state(w, "a") == job_state::processing);
  REQUIRE(take(w, a, {"semaphore:s"}).starts_with("parked "));
  audit(w);
  work_off(w);
  CHECK(how_it_ended(w, "a") == "deleted, expired");
  audit(w);
}
