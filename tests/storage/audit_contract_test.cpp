// What the audit says: each of its rules names the harm that it is for, and nothing else; and a store that nobody
// harmed is not accused. What the rest of the store tells how to mend, the repair mends.
#include "storage/flow_words.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// What stands in the store before the harm: a job "a", and what it needs.
void waiting(world& w) { put_all(w, {"a"}); }
void scheduled(world& w) { REQUIRE(put(w, {.id = "a", .delay = 1h}) == errc::none); }
void running(world& w) { started(w, "a"); }
void succeeded(world& w) { REQUIRE(settle(w, started(w, "a")) == errc::none); }
void of_unknown_type(world& w) {
  REQUIRE(put(w, job_words{.id = "a", .type = "other"}) == errc::none);
  REQUIRE(claim(w).jobs.empty());
}
void lost_twice(world& w) { put_suspect(w, "a"); }
void with_permit(world& w) { holding(w, "a", {"mutex:m"}); }
void with_claimed_permit(world& w) {
  put_all(w, {"a"});
  REQUIRE(ids(claim(w, {.permits = {{"work", {{"mutex:m"}}}}})) == names{"a"});
}
void parked_behind(world& w) {
  holding(w, "has", {"mutex:m"});
  parked(w, "a", {"mutex:m"});
}
void woken_with_permit(world& w) {
  const auto has = holding(w, "has", {"mutex:m"});
  parked(w, "a", {"mutex:m"});
  REQUIRE(settle(w, has) == errc::none);
}
void beside_lock(world& w) {
  waiting(w);
  lock(w, "r");
}
void beside_semaphore(world& w) {
  waiting(w);
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
}
void beside_server(world& w) {
  waiting(w);
  beat(w, serving("s1", {"default"}));
}

void with_child(world& w) {
  put_all(w, {"a"});
  const auto child = changed({.id = "b"}, [](prepared_job& j) { flow_of(j).after.parents = {job_id("a")}; });
  REQUIRE(report(put(w, {child})) == "stored");
}
void in_group(world& w) {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a"});
}
void in_ended_group(world& w) {
  in_group(w);
  REQUIRE(report(put(w, {behind("b", "g", parent_end::succeeded)})) == "stored");
  REQUIRE(seal(w, "g").code == errc::none);
  end(w, "a");
}
void in_cancelled_group(world& w) {
  in_group(w);
  REQUIRE(cancel_group(w, "g").code == errc::none);
}
void put_keyed(world& w, unique_until until) {
  const auto keyed = changed({.id = "a"}, [&](prepared_job& j) {
    flow_of(j).unique_key = "work/k";
    flow_of(j).unique.until = until;
    if (until == unique_until::period) flow_of(j).unique.period = 1h;
  });
  REQUIRE(report(put(w, {keyed})) == "stored");
}
void with_key(world& w) { put_keyed(w, unique_until::end); }
void with_key_for_period(world& w) { put_keyed(w, unique_until::period); }
void ended_with_key(world& w) {
  with_key(w);
  end(w, "a");
}
void with_time(world& w) {
  const auto timed = changed({.id = "a"}, [](prepared_job& j) { flow_of(j).start_within = 1h; });
  REQUIRE(report(put(w, {timed})) == "stored");
}

// What holds when it was mended.
void runs_behind_a(world& w) {
  CHECK(state(w, "b") == job_state::awaiting);
  end(w, "a");
  CHECK(state(w, "b") == job_state::enqueued);
}
void is_released(world& w) {
  work_off(w);
  CHECK(state(w, "b") == job_state::enqueued);
}
void is_deleted_for_its_parent(world& w) {
  CHECK(state(w, "b") == job_state::deleted);
  CHECK(get(w, "b").reason == "its parent a is not there");
}
void group_ends_with_a(world& w) {
  REQUIRE(seal(w, "g").code == errc::none);
  CHECK(group_in_words(w, "g") == "1 open, 0 succeeded, 0 failed, 0 deleted, sealed");
  end(w, "a");
  CHECK(group_in_words(w, "g") == "0 open, 1 succeeded, 0 failed, 0 deleted, sealed, finished");
}
void group_has_ended(world& w) {
  work_off(w);
  CHECK(group_in_words(w, "g") == "0 open, 1 succeeded, 0 failed, 0 deleted, sealed, finished");
  CHECK(state(w, "b") == job_state::enqueued);
}
void group_ends_as_cancelled(world& w) {
  work_off(w);
  CHECK(group_in_words(w, "g") == "0 open, 0 succeeded, 0 failed, 1 deleted, cancelled, finished");
}
void key_is_its_own(world& w) {
  const auto twin = changed({.id = "b"}, [](prepared_job& j) { flow_of(j).unique_key = "work/k"; });
  CHECK(report(put(w, {twin})) == "duplicate a");
  end(w, "a");
  CHECK(report(put(w, {twin})) == "stored");
}
void key_is_free(world& w) {
  CHECK(report(put(w, {changed({.id = "b"}, [](prepared_job& j) { flow_of(j).unique_key = "work/k"; })})) == "stored");
}
void key_is_free_in_time(world& w) {
  w.clock.advance(1h);
  work_off(w);
  key_is_free(w);
}
void is_over_in_time(world& w) {
  w.clock.advance(1h);
  work_off(w);
  CHECK(state(w, "a") == job_state::deleted);
}
void a_runs(world& w) { end(w, "a"); }

struct harm {
  std::string rule;
  void (*before)(world&);
  std::vector<names> commands;
  names findings;  // in order; P is the prefix
  // Of what can be mended: what holds then.
  void (*then)(world&) = nullptr;
};

// Above every number that was drawn, and still exact.
const std::string never_drawn = "9007199254740990";

std::string run_of_a(const std::string& fence, const std::string& queue = "7:default",
                     const std::string& permits = "0:") {
  return fence + " 1 0 1 30000000 0 1 " + queue + permits + "s1";
}

std::vector<harm> all_harms() {
  return {
      {"a record that cannot be read",
       waiting,
       {{"HSET", "jobs", "a", ""}},
       {"job a has a record that cannot be read"}},
      {"a job in no line", waiting, {{"ZREM", "ready:default", "a"}}, {"job a is in no line"}},
      {"a job in two lines",
       waiting,
       {{"ZADD", "failed:default", "1", "a"}},
       {"job a is in several lines: failed of default, ready of default"}},
      {"a job in a line of another queue",
       waiting,
       {{"SADD", "queues", "other"}, {"ZADD", "ready:other", "1", "a"}},
       {"job a is in P:ready:other, which is not of its queue"}},
      {"a job in the line of another type",
       of_unknown_type,
       {{"SADD", "types:default", "third"}, {"ZADD", "type:default/third", "1", "a"}},
       {"job a is in P:type:default/third, which is not of its queue"}},
      {"a place of nobody",
       waiting,
       {{"ZADD", "ready:default", "1", "ghost"}},
       {"job ghost is in P:ready:default but does not exist"}},
      {"a line of a queue that is not known",
       waiting,
       {{"ZADD", "ready:zz", "1", "ghost"}},
       {"job ghost is in P:ready:zz but does not exist", "key P:ready:zz belongs to nobody"}},
      {"a line of a type that is not known",
       of_unknown_type,
       {{"SREM", "types:default", "other"}},
       {"key P:type:default/other belongs to nobody"}},
      {"types of a queue that is not known",
       waiting,
       {{"SADD", "types:zz", "work"}},
       {"key P:types:zz belongs to nobody"}},
      {"a queue that was forgotten",
       waiting,
       {{"SREM", "queues", "default"}},
       {"key P:ready:default belongs to nobody"}},
      {"a place that was never drawn",
       waiting,
       {{"ZADD", "ready:default", never_drawn, "a"}},
       {"job a has a place that was never drawn"}},
      {"a place that is no number of its own",
       waiting,
       {{"ZADD", "ready:default", "0.5", "a"}},
       {"job a has a place that was never drawn"}},
      {"a job that is due at no instant",
       scheduled,
       {{"ZADD", "scheduled:default", "inf", "a"}, {"ZADD", "due", "inf", "default"}},
       {"job a is scheduled at no instant"}},
      {"a lease without an end",
       running,
       {{"ZADD", "processing:default", "inf", "a"}},
       {"job a is processing at no instant"}},
      {"an end at no instant",
       succeeded,
       {{"ZADD", "succeeded:default", "1e300", "a"}},
       {"job a is succeeded at no instant"}},
      {"a history of nobody",
       waiting,
       {{"HSET", "history", "ghost", "x"}},
       {"there is a history of job ghost, which does not exist"}},
      {"a history that cannot be read",
       waiting,
       {{"HSET", "history", "a", "x"}},
       {"job a has a history that cannot be read"}},
      {"a history with more starts than are kept",
       waiting,
       {{"HSET", "history", "a", "1 0 0 0 1000000000 0:0:0:"}},
       {"job a has a history that cannot be read"}},
      {"a history without the runs that it counts",
       waiting,
       {{"HSET", "history", "a", "1 0 0 0 2 0:0:0:1:x"}},
       {"job a has a history that cannot be read"}},
      {"a history whose fence was never drawn",
       waiting,
       {{"HSET", "history", "a", "1 0 " + never_drawn + " 0 0 0:0:0:"}},
       {"job a has a history with a fence that was never drawn"}},
      {"a history that its run does not know of",
       running,
       {{"HSET", "history", "a", "0 0 0 0 0 0:0:0:"}},
       {"job a has a history that its run does not know of"}},
      {"a run that is asked to end by nobody",
       running,
       {{"HSET", "runs", "a", "1 1 5 1 30000000 0 1 7:default0:s1"}},
       {"job a is asked to end, and no history says by whom"}},
      {"a run that is asked to end and says that it has no history",
       running,
       {{"HSET", "runs", "a", "1 1 4 1 30000000 0 1 7:default0:s1"}},
       {"job a has a run that cannot be read"}},
      {"a suspect in the main line",
       waiting,
       {{"HSET", "history", "a", "2 2 0 0 0 0:0:0:"}},
       {"job a is a suspect but is ready"}},
      {"a suspect in the front line",
       waiting,
       {{"HSET", "history", "a", "2 2 0 0 0 0:0:0:"},
        {"ZREM", "ready:default", "a"},
        {"ZADD", "front:default", "1", "a"}},
       {"job a is a suspect but is front"}},
      {"no suspect in the line of suspects",
       lost_twice,
       {{"HSET", "history", "a", "2 1 0 0 0 0:0:0:"}},
       {"job a is in the line of suspects and was not lost so often"}},
      {"a run of nobody",
       waiting,
       {{"HSET", "runs", "ghost", "x"}},
       {"there is a run of job ghost, which does not exist"}},
      {"a run without a lease", waiting, {{"HSET", "runs", "a", run_of_a("1")}}, {"job a has a run but is ready"}},
      {"a lease without a run", running, {{"HDEL", "runs", "a"}}, {"job a is processing without a run"}},
      {"a run that cannot be read", running, {{"HSET", "runs", "a", "x"}}, {"job a has a run that cannot be read"}},
      {"a run that took what cannot be read",
       running,
       {{"HSET", "runs", "a", run_of_a("1", "7:default", "1:x")}},
       {"job a has a run that cannot be read"}},
      {"a run whose fence was never drawn",
       running,
       {{"HSET", "runs", "a", run_of_a(never_drawn)}},
       {"job a has a fence that was never drawn"}},
      {"a run for another queue",
       running,
       {{"HSET", "runs", "a", run_of_a("1", "5:other")}},
       {"job a runs for queue other in the line of default"}},
      {"a run that took what it does not hold",
       running,
       {{"HSET", "runs", "a", run_of_a("1", "7:default", "9:7:mutex:m")}},
       {"the claim of job a has mutex:m, and the job does not hold it"}},
      {"leases that nobody looks at",
       running,
       {{"ZREM", "ending", "default"}},
       {"queue default has leases that nobody looks at"}},
      {"leases that are looked at too late",
       running,
       {{"ZADD", "ending", never_drawn, "default"}},
       {"queue default has leases that nobody looks at"}},
      {"due jobs that nobody looks at",
       scheduled,
       {{"ZREM", "due", "default"}},
       {"queue default has due jobs that nobody looks at"}},
      {"due jobs that are looked at too late",
       scheduled,
       {{"ZADD", "due", never_drawn, "default"}},
       {"queue default has due jobs that nobody looks at"}},
      {"a queue with nothing due",
       waiting,
       {{"ZADD", "due", "1", "default"}},
       {"queue default is listed as due and has nothing scheduled"}},
      {"a due queue that is not known", waiting, {{"ZADD", "due", "1", "zz"}}, {"queue zz is in due but is not known"}},
      {"leases of a queue that is not known",
       waiting,
       {{"ZADD", "ending", "1", "zz"}},
       {"queue zz is in ending but is not known"}},
      {"a paused queue that is not known",
       waiting,
       {{"SADD", "paused", "zz"}},
       {"queue zz is in paused but is not known"}},
      {"a queue that is served for ever",
       waiting,
       {{"ZADD", "served", "inf", "default"}},
       {"queue default is served until no instant"}},
      {"a claim that cannot be read",
       running,
       {{"HSET", "claims", "0 7:defaults1", "soon"}},
       {"the last claim of 0 7:defaults1 cannot be read"}},
      {"a claim of nobody",
       waiting,
       {{"HSET", "claims", "default", "1"}},
       {"the last claim of default cannot be read"}},
      {"a server that cannot be read",
       beside_server,
       {{"HSET", "servers", "s1", "1 2 3"}},
       {"server s1 cannot be read"}},
      {"an admission of nobody",
       waiting,
       {{"HSET", "admission", "ghost", "0 0 0 0 1 0:1 7:mutex:m"}},
       {"there is an admission of job ghost, which does not exist"}},
      {"an admission that cannot be read",
       with_permit,
       {{"HSET", "admission", "a", "x"}},
       {"job a has an admission that cannot be read"}},
      {"an admission that names too many permits",
       waiting,
       {{"HSET", "admission", "a", "0 0 0 1000000000 0 0:"}},
       {"job a has an admission that cannot be read"}},
      {"an admission with something behind it",
       waiting,
       {{"HSET", "admission", "a", "0 0 0 0 0 0:x"}},
       {"job a has an admission that cannot be read"}},
      {"an admission that its run does not know of",
       running,
       {{"HSET", "admission", "a", "0 0 0 0 0 0:"}},
       {"job a has an admission that its run does not know of"}},
      {"an admission with a permit that is not held",
       with_permit,
       {{"HSET", "admission", "a", "0 0 0 2 0 0:7:mutex:m7:mutex:x"}},
       {"job a has mutex:x but does not hold it"}},
      {"an admission with a fence that was never drawn",
       waiting,
       {{"HSET", "admission", "a", "0 0 " + never_drawn + " 0 0 0:"}},
       {"job a has an admission with a number that was never drawn"}},
      {"an admission of a first parking that was never drawn",
       waiting,
       {{"HSET", "admission", "a", never_drawn + " 0 0 0 0 0:"}},
       {"job a has an admission with a number that was never drawn"}},
      {"an admission of a job that is final",
       succeeded,
       {{"HSET", "admission", "a", "0 0 0 0 0 0:"}},
       {"job a is succeeded and has to do with a throttler"}},
      {"a job that waits while it is in the main line",
       waiting,
       {{"HSET", "admission", "a", "1 0 0 0 0 7:mutex:m"}},
       {"job a waits for mutex:m but is ready"}},
      {"throttled and not parked",
       waiting,
       {{"ZREM", "ready:default", "a"}, {"ZADD", "throttled:default", "1", "a"}},
       {"job a is throttled and waits in no line"}},
      {"parked and not in the line",
       parked_behind,
       {{"ZREM", "wait:default/mutex:m", "a"}, {"SREM", "waits:mutex:m", "default"}, {"ZREM", "waiting", "mutex:m"}},
       {"job a is throttled and waits in no line"}},
      {"parked and not throttled",
       parked_behind,
       {{"ZREM", "throttled:default", "a"}},
       {"job a is in no line", "job a is in the line of mutex:m but does not wait for it"}},
      {"parked at another place",
       parked_behind,
       {{"ZADD", "wait:default/mutex:m", "1", "a"}},
       {"job a waits at another place than it was given"}},
      {"a waiter that is nobody",
       parked_behind,
       {{"ZADD", "wait:default/mutex:m", "1", "ghost"}},
       {"job ghost is in the line of mutex:m but does not exist"}},
      {"a waiter for something else",
       parked_behind,
       {{"ZADD", "wait:default/mutex:x", "1", "a"},
        {"SADD", "waits:mutex:x", "default"},
        {"ZADD", "waiting", "0", "mutex:x"}},
       {"job a is in the line of mutex:x but does not wait for it"}},
      {"a line of waiters that is not listed",
       parked_behind,
       {{"ZREM", "waiting", "mutex:m"}},
       {"mutex:m is waited for in queue default and not listed so"}},
      {"a queue with waiters that is not listed",
       parked_behind,
       {{"SADD", "waits:mutex:m", "other"}, {"SREM", "waits:mutex:m", "default"}},
       {"mutex:m is waited for in queue default and not listed so",
        "nobody of queue other waits for mutex:m, but it is listed so"}},
      {"a line of waiters for nothing",
       waiting,
       {{"ZADD", "wait:nonsense", "1", "a"}},
       {"key P:wait:nonsense belongs to nobody"}},
      {"a list of waiters without any",
       parked_behind,
       {{"SADD", "waits:mutex:m", "other"}},
       {"nobody of queue other waits for mutex:m, but it is listed so"}},
      {"a resource listed as waiting",
       waiting,
       {{"ZADD", "waiting", "0", "mutex:x"}},
       {"mutex:x is listed as waiting and is not"}},
      {"a resource listed as waiting out of order",
       parked_behind,
       {{"ZADD", "waiting", "1", "mutex:m"}},
       {"mutex:m is not listed as waiting by its name"}},
      {"a line that opens for nobody",
       waiting,
       {{"ZADD", "next_checks", "1", "mutex:x"}},
       {"the line of mutex:x has a next check, and nobody waits in it"}},
      {"a next check that is no instant",
       parked_behind,
       {{"ZADD", "next_checks", "-1", "mutex:m"}},
       {"the next check of the line of mutex:m is no instant"}},
      {"a permit of nobody",
       with_permit,
       {{"HSET", "holders:mutex:m", "ghost", "held 1 1"}},
       {"mutex:m is held by 2, which is more than one", "mutex:m is held by job ghost, which does not exist"}},
      {"a permit of a run that is over",
       with_permit,
       {{"HSET", "holders:mutex:m", "a", "held 1 1"}},
       {"mutex:m is held by job a as held 1 1, which it has no right to"}},
      {"a permit that cannot be read",
       with_permit,
       {{"HSET", "holders:mutex:m", "a", "x"}},
       {"mutex:m is held by job a as x, which it has no right to"}},
      {"a permit that its job does not know of",
       with_permit,
       {{"HDEL", "admission", "a"}},
       {"mutex:m is held by job a, of which it is not known"}},
      {"a permit that is gone",
       parked_behind,
       {{"HDEL", "holders:mutex:m", "has"}},
       {"job has has mutex:m but does not hold it", "mutex:m is listed as busy and is not"}},
      {"a reserved permit of a job that runs",
       with_permit,
       {{"HSET", "holders:mutex:m", "a", "reserved 0 1"}},
       {"mutex:m is held by job a as reserved 0 1, which it has no right to"}},
      {"a reserved permit that is not listed",
       woken_with_permit,
       {{"DEL", "reserved"}},
       {"mutex:m is held by job a as reserved 0 1780000000000000, which it has no right to"}},
      {"a resource that is held and not listed",
       with_permit,
       {{"ZREM", "busy", "mutex:m"}},
       {"mutex:m is held and not listed so"}},
      {"a resource listed as busy",
       waiting,
       {{"ZADD", "busy", "0", "mutex:x"}},
       {"mutex:x is listed as busy and is not"}},
      {"a resource listed as busy out of order",
       with_permit,
       {{"ZADD", "busy", "1", "mutex:m"}},
       {"mutex:m is not listed as busy by its name"}},
      {"a reservation of nobody",
       waiting,
       {{"ZADD", "reserved", "1", "7:mutex:xa"}},
       {"7:mutex:xa is listed as reserved and is not"}},
      {"a reservation that cannot be read",
       waiting,
       {{"ZADD", "reserved", "1", "x"}},
       {"x is listed as reserved and is not"}},
      {"a reservation since no instant",
       woken_with_permit,
       {{"ZADD", "reserved", "-inf", "7:mutex:ma"}},
       {"7:mutex:ma is reserved since no instant"}},
      {"a count of claims that no row names",
       waiting,
       {{"HSET", "claim_permits", "mutex:x", "1"}},
       {"mutex:x is counted as held by the claims of 1 runs, and 0 have it"}},
      {"a count of claims that is too high",
       with_claimed_permit,
       {{"HSET", "claim_permits", "mutex:m", "2"}},
       {"mutex:m is counted as held by the claims of 2 runs, and 1 have it",
        "mutex:m is held by 2, which is more than one"}},
      {"a count of claims that is no number",
       with_claimed_permit,
       {{"HSET", "claim_permits", "mutex:m", "x"}},
       {"mutex:m is counted as held by the claims of x runs, and 1 have it"}},
      {"a count of no claims",
       waiting,
       {{"HSET", "claim_permits", "mutex:m", "0"}},
       {"mutex:m is counted as held by claims, and no run has it"}},
      {"a claim that nobody counted",
       with_claimed_permit,
       {{"HDEL", "claim_permits", "mutex:m"}, {"ZREM", "busy", "mutex:m"}},
       {"the claim of job a has mutex:m, and the job does not hold it"}},
      {"what claims took and is not listed",
       with_claimed_permit,
       {{"ZREM", "busy", "mutex:m"}},
       {"mutex:m is held and not listed so"}},
      {"a semaphore without a limit",
       beside_semaphore,
       {{"HDEL", "limits", "semaphore:s"}},
       {"semaphore:s is defined and has no limit"}},
      {"a limit of nothing",
       waiting,
       {{"HSET", "limits", "semaphore:x", "1"}},
       {"semaphore:x has a limit and no definition"}},
      {"a limit that is no number",
       beside_semaphore,
       {{"HSET", "limits", "semaphore:s", "nan"}},
       {"semaphore:s has a limit that cannot be read"}},
      {"another limit than was defined",
       beside_semaphore,
       {{"HSET", "limits", "semaphore:s", "99999"}},
       {"semaphore:s has a limit of 99999 and is defined with 1"}},
      {"a definition that is no definition",
       beside_semaphore,
       {{"HSET", "definitions", "semaphore:s", ""}},
       {"semaphore:s has a definition that cannot be read"}},
      {"a store that says no layout", waiting, {{"DEL", "schema"}}, {"the store says no layout"}},
      {"a configuration of nothing",
       waiting,
       {{"HSET", "configs", "semaphore:x", "{}"}},
       {"semaphore:x has a configuration and no definition"}},
      {"a limiter that cannot be read",
       waiting,
       {{"HSET", "limiters", "fixed_window:w", "1 3:x"}},
       {"limiter fixed_window:w cannot be read"}},
      {"a lock that cannot be read", beside_lock, {{"HSET", "locks", "r", "x"}}, {"lock r cannot be read"}},
      {"a lock whose fence was never drawn",
       beside_lock,
       {{"HSET", "locks", "r", never_drawn + " 30000000 1:th"}},
       {"lock r has a fence that was never drawn"}},
      {"a lock without an end", beside_lock, {{"ZREM", "lock_ends", "r"}}, {"lock r is held and has no end"}},
      {"an end without a lock", beside_lock, {{"HDEL", "locks", "r"}}, {"lock r has an end and nobody holds it"}},
      {"a lock until no instant", beside_lock, {{"ZADD", "lock_ends", "1e300", "r"}}, {"lock r ends at no instant"}},
      {"a schedule that cannot be read",
       waiting,
       {{"HSET", "schedules", "s", "1 1 0:"}, {"ZADD", "schedule_names", "0", "s"}},
       {"schedule s cannot be read"}},
      {"a schedule with more runs than it says",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:1:x1 "}, {"ZADD", "schedule_names", "0", "s"}},
       {"schedule s cannot be read"}},
      {"a schedule whose version was never drawn",
       waiting,
       {{"HSET", "schedules", "s", never_drawn + " 0 0:"}, {"ZADD", "schedule_names", "0", "s"}},
       {"schedule s has a version that was never drawn"}},
      {"a schedule that is not listed",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:"}},
       {"schedule s is not listed by its name"}},
      {"a schedule that is listed and not there",
       waiting,
       {{"ZADD", "schedule_names", "0", "s"}},
       {"schedule s is in schedule_names but is not there"}},
      {"a schedule that is listed otherwise than by its name",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:"}, {"ZADD", "schedule_names", "1", "s"}},
       {"s is not listed as schedule_names by its name"}},
      {"a firing without a schedule",
       waiting,
       {{"ZADD", "firing", "1", "s"}},
       {"schedule s is in firing but is not there"}},
      {"a firing at no instant",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:"}, {"ZADD", "schedule_names", "0", "s"}, {"ZADD", "firing", "inf", "s"}},
       {"schedule s is due at no instant"}},
      {"a place without a schedule",
       waiting,
       {{"HSET", "places", "s", "0 60000000 1"}},
       {"schedule s is in places but is not there"}},
      {"a place of a schedule that cannot be read",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:"}, {"ZADD", "schedule_names", "0", "s"}, {"HSET", "places", "s", "x"}},
       {"schedule s has a place that cannot be read"}},
      {"a place of a schedule that was never drawn",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:"},
        {"ZADD", "schedule_names", "0", "s"},
        {"HSET", "places", "s", "0 60000000 " + never_drawn}},
       {"schedule s has a place that was never drawn"}},
      {"bytes in quarantine that cannot be read",
       waiting,
       {{"HSET", "quarantine", "ghost", "0:0:"}},
       {"what is in quarantine of job ghost cannot be read"}},
      {"an id in quarantine without its bytes",
       waiting,
       {{"ZADD", "quarantined:default", "1", "ghost"}},
       {"job ghost is in P:quarantined:default without its bytes"}},
      {"an id in quarantine since no instant",
       waiting,
       {{"HSET", "quarantine", "ghost", "0:0:0:"}, {"ZADD", "quarantined:default", "-1", "ghost"}},
       {"job ghost is in quarantine at no instant"}},
      {"totals that cannot be read",
       waiting,
       {{"HSET", "totals", "default", "29000000 1 0 0 0 0"}},
       {"queue default has totals that cannot be read"}},
      {"totals of no minute",
       waiting,
       {{"HSET", "totals", "default", "x 1 0 0 0 0 0"}},
       {"queue default has totals that cannot be read"}},
      {"totals of before that cannot be read",
       waiting,
       {{"HSET", "totals_before", "default", "1 0 0 0 0 0"}},
       {"queue default has totals that cannot be read"}},
      {"totals of a minute that cannot be read",
       waiting,
       {{"HSET", "minutes:483333", "", ",58 1 0 0 0 0 0,59 1 0 0 0 0"}, {"HSET", "total_sizes", "minutes:483333", "1"}},
       {"the store has totals that cannot be read"}},
      {"totals whose size is unknown",
       waiting,
       {{"HSET", "hours:20138", "default", ",23 1 0 0 0 0 0"}},
       {"key P:hours:20138 belongs to nobody"}},
      {"totals that were lost",
       waiting,
       {{"HSET", "total_sizes", "hours:20138", "1"}},
       {"the totals of hours:20138 are listed and not there"}},
      {"totals of no size",
       waiting,
       {{"HSET", "hours:20138", "default", ",23 1 0 0 0 0 0"}, {"HSET", "total_sizes", "hours:20138", "x"}},
       {"the totals of hours:20138 have no size"}},
      {"an action that cannot be read",
       waiting,
       {{"ZADD", "operator_log", "1", "1 1 1 1 4:anna9:dashboard5:pause4:idl"}},
       {"action 1 cannot be read"}},
      {"an act of no count",
       waiting,
       {{"ZADD", "operator_log", "1", "1 1 1 99999999999999999999 4:anna9:dashboard5:pause"}},
       {"action 1 cannot be read"}},
      {"an act in another place",
       waiting,
       {{"ZADD", "operator_log", "2", "1 1 1 1 4:anna9:dashboard5:pause4:idle"}},
       {"act 2 is not in its place"}},
      {"a key of nobody", waiting, {{"SET", "orphan", "x"}}, {"key P:orphan belongs to nobody"}},
      {"a number that is none", waiting, {{"SET", "number", "x"}}, {"P:number leaves no number to draw, or is none"}},
      {"a number beyond what is exact",
       waiting,
       {{"SET", "number", "4503599627370496"}},
       {"P:number leaves no number to draw, or is none"}},
      {"numbers that went back",
       beside_lock,
       {{"SET", "number", "1"}},
       {"job a has a place that was never drawn", "lock r has a fence that was never drawn"}},
  };
}

// Of what jobs have to do with others, and with time, which can be mended.
std::vector<harm> mended_harms() {
  const names mark{"SET", "flow_mark", "1"};
  const std::string since = "1780000000000000";
  return {
      {"a child whose row cannot be read",
       with_child,
       {{"HSET", "flow", "b", "x"}},
       {"job b is among the children of a and does not name it", "job b is awaiting and names no parents",
        "what job b has to do with others cannot be read"},
       runs_behind_a},
      {"a child without a row",
       with_child,
       {{"HDEL", "flow", "b"}},
       {"job b is among the children of a and does not name it", "job b is awaiting and names no parents"},
       runs_behind_a},
      {"a parent without a row",
       with_child,
       {{"HDEL", "flow", "a"}},
       {"job a has children and is not said to have any"},
       runs_behind_a},
      {"a child that its parent does not know of",
       with_child,
       {{"ZREM", "after:a", "b"}},
       {"job a is said to have children and has none", "job b is not among the children of a as it should be"},
       runs_behind_a},
      {"a child to which its parent's end is not open",
       with_child,
       {{"ZADD", "after:a", "1", "b"}},
       {"job b is not among the children of a as it should be"},
       runs_behind_a},
      {"a child that is nobody",
       with_child,
       {{"ZADD", "after:a", "0", "ghost"}},
       {"job ghost is among the children of a and does not name it"},
       runs_behind_a},
      {"a parent that is nobody",
       with_child,
       {{"ZADD", "after:ghost", "0", "b"}},
       {"job b is among the children of ghost and does not name it",
        "job ghost has children and is not said to have any"},
       runs_behind_a},
      {"a child that was not told of an end",
       with_child,
       {{"ZREM", "ready:default", "a"}, {"ZADD", "succeeded:default", since, "a"}},
       {"job b waits for a, which has ended"},
       is_released},
      {"a child whose parent is lost",
       with_child,
       {{"ZREM", "ready:default", "a"}, {"HDEL", "jobs", "a"}},
       {"job b waits for a, which does not exist", "there is something of others for job a, which does not exist"},
       is_deleted_for_its_parent},
      {"a child that awaits nobody any more",
       with_child,
       {{"HSET", "flow", "b", "0 1 0 0 s d 1 11:a"}},
       {"job b is awaiting, and its parents have ended", "job b is not among the children of a as it should be"},
       is_released},
      {"a job that awaits nobody",
       waiting,
       {{"ZREM", "ready:default", "a"}, {"ZADD", "awaiting:default", "1", "a"}},
       {"job a is awaiting and names no parents"},
       a_runs},
      {"a job that says it has children",
       waiting,
       {mark, {"HSET", "flow", "a", "1"}},
       {"job a is said to have children and has none"},
       a_runs},
      {"something of others for nobody",
       waiting,
       {mark, {"HSET", "flow", "ghost", "1"}},
       {"there is something of others for job ghost, which does not exist"}},
      {"children, and no mark that there are any",
       with_child,
       {{"DEL", "flow_mark"}},
       {"P:flow_mark is not there, and jobs wait for others"},
       runs_behind_a},

      {"a group that cannot be read",
       in_group,
       {{"HSET", "groups", "g", "x"}},
       {"group g cannot be read", "job a is in group g, which does not exist",
        "something is still to be done of job @g, which does not exist"},
       group_ends_with_a},
      {"a group that is lost",
       in_group,
       {{"HDEL", "groups", "g"}},
       {"job a is in group g, which does not exist", "something is still to be done of job @g, which does not exist"},
       group_ends_with_a},
      {"a group that counts more than it has open",
       in_group,
       {{"HSET", "groups", "g", "o 7 0 0 0 " + since + " 0"}},
       {"group g has 1 open members and counts 7"},
       group_ends_with_a},
      {"a group that counts less than have ended",
       in_ended_group,
       {{"HSET", "groups", "g", "s 0 0 0 0 " + since + " " + since}},
       {"group g has more members than it counts"},
       group_has_ended},
      {"a group that has ended and does not say so",
       in_ended_group,
       {{"HSET", "groups", "g", "s 0 1 0 0 " + since + " 0"}},
       {"group g does not say rightly whether it has ended"},
       group_has_ended},
      {"a group that has not ended and says so",
       in_group,
       {{"HSET", "groups", "g", "o 1 0 0 0 " + since + " " + since}},
       {"group g does not say rightly whether it has ended"},
       group_ends_with_a},
      {"a group that is not sealed, for ever",
       in_group,
       {{"ZREM", "agenda", "seal - @g"}},
       {"group g is not sealed, and nobody looks at that"},
       group_ends_with_a},
      {"a group that has ended, and stays for ever",
       in_ended_group,
       {{"ZREM", "agenda", "forget - @g"}},
       {"group g has ended, and nobody forgets it"},
       group_has_ended},
      {"a cancelled group whose members go on",
       in_cancelled_group,
       {{"ZREM", "agenda", "cancel - @g"}},
       {"group g was cancelled, and nobody ends its members"},
       group_ends_as_cancelled},
      {"a member that its group does not know of",
       in_group,
       {{"ZREM", "members:g", "a"}},
       {"group g has 0 open members and counts 1", "job a is not among the members of g as it should be"},
       group_ends_with_a},
      {"an open member that stands as ended",
       in_group,
       {{"ZADD", "members:g", "1", "a"}},
       {"group g has 0 open members and counts 1", "group g has more members than it counts",
        "job a is not among the members of g as it should be"},
       group_ends_with_a},
      {"an open member that counts as ended",
       in_group,
       {{"HSET", "flow", "a", "0 gs1:g"},
        {"ZADD", "members:g", "1", "a"},
        {"HSET", "groups", "g", "o 0 1 0 0 " + since + " 0"}},
       {"job a has not ended and does not count as open in g"},
       group_ends_with_a},
      {"a member that has ended and counts as open",
       in_ended_group,
       {{"HSET", "flow", "a", "0 g-1:g"},
        {"ZADD", "members:g", "0", "a"},
        {"HSET", "groups", "g", "s 1 0 0 0 " + since + " 0"},
        {"ZREM", "agenda", "forget - @g"}},
       {"job a has ended and counts as open in g"},
       group_has_ended},
      {"a member that is nobody",
       in_group,
       {{"ZADD", "members:g", "0", "ghost"}},
       {"group g has 2 open members and counts 1", "job ghost is among the members of g and does not know of it"},
       group_ends_with_a},
      {"a member without a row",
       in_group,
       {{"HDEL", "flow", "a"}},
       {"job a is among the members of g and does not know of it"},
       group_ends_with_a},

      {"a key of which cannot be read who has it",
       with_key,
       {{"HSET", "keys", "work/k", "x"}},
       {"job a does not have its key work/k", "who has key work/k cannot be read"},
       key_is_its_own},
      {"a key that its job does not have",
       with_key,
       {{"HDEL", "keys", "work/k"}},
       {"job a does not have its key work/k"},
       key_is_its_own},
      {"a key of a job that has another",
       with_key,
       {{"HSET", "keys", "work/other", "e " + since + " 0 1:a"}},
       {"job a has key work/other and does not know of it"},
       key_is_its_own},
      {"a job without a row that has a key",
       with_key,
       {{"HDEL", "flow", "a"}},
       {"job a has key work/k and does not know of it"},
       key_is_its_own},
      {"a key of a job that has ended",
       ended_with_key,
       {{"HSET", "keys", "work/k", "e " + since + " 0 1:a"}},
       {"job a has ended and has its key work/k", "job a has key work/k, and has ended"},
       key_is_free},
      {"a period that never ends",
       with_key_for_period,
       {{"ZREM", "agenda", "key - work/k"}},
       {"key work/k is held for a period, and nobody looks at its end"},
       key_is_free_in_time},

      {"a time that nobody looks at",
       with_time,
       {{"ZREM", "agenda", "expire - a"}},
       {"job a has a time to be over, and nobody looks at it"},
       is_over_in_time},
      {"a time that is looked at at no instant",
       with_time,
       {{"ZADD", "agenda", "inf", "expire - a"}},
       {"what is to be done of job a is to be done at no instant"},
       is_over_in_time},
      {"something to be done that cannot be read",
       waiting,
       {mark, {"ZADD", "agenda", "1", "nonsense"}},
       {"what is still to be done of nonsense cannot be read"}},
      {"a period of no key",
       waiting,
       {mark, {"ZADD", "agenda", "1", "key - work/k"}},
       {"the end of a period is to be looked at of key work/k, which has none"}},
      {"something to be done of nobody",
       waiting,
       {mark, {"ZADD", "agenda", "1", "edges s ghost"}},
       {"something is still to be done of job ghost, which does not exist"}},
      {"something to be done, and no mark that there is",
       waiting,
       {{"ZADD", "agenda", "1", "expire - a"}},
       {"P:flow_mark is not there, and something is still to be done"},
       a_runs},
  };
}

template <class World>
std::string without_prefix(World& w, std::string text) {
  const auto prefix = w.key("");
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
    text.replace(at, prefix.size(), "P:");
  return text;
}
template <class World>
names told(World& w) {
  const auto found = w.store().audit();
  REQUIRE(found.ok());
  names all;
  for (const auto& finding : *found)
    all.push_back(without_prefix(w, finding));
  std::sort(all.begin(), all.end());
  return all;
}
template <class World>
void harm_by(World& w, const harm& h) {
  h.before(w);
  REQUIRE(told(w) == names{});
  for (const auto& c : h.commands)
    w.command(c);
}

}  // namespace

#define ON_HARMED_STORES(name) TEMPLATE_TEST_CASE(name, "[contract]", harmed_file_world, harmed_redis_world)

ON_HARMED_STORES("The audit names each harm, and nothing else") {
  for (const auto& harms : {all_harms(), mended_harms()})
    for (const auto& h : harms) {
      INFO(h.rule);
      TestType w;
      harm_by(w, h);
      CHECK(told(w) == h.findings);
    }
}

ON_HARMED_STORES("The repair mends what the rest of the store tells of jobs, and they go on") {
  for (const auto& h : mended_harms()) {
    INFO(h.rule);
    TestType w;
    harm_by(w, h);
    const auto found = w.store().repair();
    REQUIRE(found.ok());
    CHECK_FALSE(found->empty());
    for (const auto& one : *found) {
      INFO(one.finding);
      // What a row that is made anew waits for, until all of its parents are known.
      const bool is_on_the_way = one.finding.ends_with(" is awaiting, and needs more parents than it names");
      CHECK(std::count(h.findings.begin(), h.findings.end(), without_prefix(w, one.finding)) ==
            (is_on_the_way ? 0 : 1));
      CHECK(one.done != "");
    }
    CHECK(told(w) == names{});
    if (h.then) h.then(w);
    CHECK(told(w) == names{});
  }
}

ON_HARMED_STORES("The repair makes a lost group anew, which then ends and tells those that wait for it") {
  TestType w;
  in_ended_group(w);
  w.command({"HDEL", "groups", "g"});
  w.command({"HSET", "flow", "b", "0 1 0 0 s d 1 02:@g"});
  w.command({"ZADD", "after:@g", "0", "b"});
  w.command({"ZREM", "ready:default", "b"});
  w.command({"ZADD", "awaiting:default", "1", "b"});
  CHECK(told(w) == names{"job a is in group g, which does not exist", "job b waits for @g, which does not exist",
                         "something is still to be done of job @g, which does not exist",
                         "there is something of others for job @g, which does not exist"});
  REQUIRE(w.store().repair().ok());
  CHECK(told(w) == names{});
  group_has_ended(w);
}

ON_HARMED_STORES("The repair tells of a first failure as of one, not as of an end that is not wanted") {
  TestType w;
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a", "b"});
  REQUIRE(put(w, {behind("told", "g", parent_end::first_failure)}).each.at(0) == errc::none);
  w.command({"ZREM", "after:@g", "told"});
  end(w, "a", how::given_up);
  CHECK_FALSE(told(w).empty());
  REQUIRE(w.store().repair().ok());
  CHECK(told(w) == names{});
  work_off(w);
  CHECK(state(w, "told") == job_state::enqueued);
  CHECK(told(w) == names{});
}

ON_HARMED_STORES("The repair makes a lost row of two parents anew, which needs both") {
  TestType w;
  put_all(w, {"a", "b"});
  auto child = changed({.id = "c"}, [](prepared_job& j) { flow_of(j).after.parents = {job_id("a"), job_id("b")}; });
  REQUIRE(put(w, {child}).each.at(0) == errc::none);
  w.command({"HDEL", "flow", "c"});
  REQUIRE(w.store().repair().ok());
  CHECK(told(w) == names{});
  end(w, "a");
  CHECK(state(w, "c") == job_state::awaiting);
  end(w, "b");
  CHECK(state(w, "c") == job_state::enqueued);
  CHECK(told(w) == names{});
}

ON_HARMED_STORES("The repair leaves the rest as it is, and says so") {
  TestType w;
  scheduled(w);
  w.command({"ZREM", "due", "default"});
  w.command({"HSET", "history", "ghost", "x"});
  const auto found = w.store().repair();
  REQUIRE(found.ok());
  REQUIRE(found->size() == 2);
  CHECK(found->at(0).finding == "there is a history of job ghost, which does not exist");
  CHECK(found->at(0).done == "");
  CHECK(found->at(1).finding == "queue default has due jobs that nobody looks at");
  CHECK(found->at(1).done == "it is listed as it should be");
  CHECK(told(w) == names{"there is a history of job ghost, which does not exist"});
}

ON_HARMED_STORES("The repair mends all of a parent's children and all members of a group, however many") {
  TestType w;
  REQUIRE(create(w, "g").code == errc::none);
  put_all(w, {"a"});
  constexpr int many = 700;
  std::vector<prepared_job> jobs;
  for (int i = 0; i < many; ++i)
    jobs.push_back(changed({.id = cat("b", i)}, [](prepared_job& j) {
      flow_of(j).after.parents = {job_id("a")};
      flow_of(j).group = group_name("g");
    }));
  for (const auto code : put(w, std::move(jobs)).each)
    REQUIRE(code == errc::none);
  for (const auto* key : {"after:a", "members:g", "groups", "flow_mark"})
    w.command({"DEL", key});
  const auto found = w.store().repair();
  REQUIRE(found.ok());
  CHECK(found->size() > many);
  CHECK(std::all_of(found->begin(), found->end(), [](const auto& one) { return one.done != ""; }));
  CHECK(told(w) == names{});
  CHECK(group_in_words(w, "g") == cat(many, " open, 0 succeeded, 0 failed, 0 deleted"));
  end(w, "a");
  work_off(w);
  for (int i = 0; i < many; ++i)
    CHECK(state(w, cat("b", i)) == job_state::enqueued);
  CHECK(told(w) == names{});
}

ON_HARMED_STORES("The audit tells of a key of another type, and goes on with the others") {
  TestType w;
  running(w);
  w.command({"SET", "waits:mutex:m", "a text"});
  w.command({"HSET", "history", "ghost", "x"});
  const auto found = told(w);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "there is a history of job ghost, which does not exist");
  CHECK(found[1].starts_with("waits P:waits:mutex:m cannot be looked at: "));
  CHECK(found[1].find("WRONGTYPE") != std::string::npos);
}

ON_HARMED_STORES("The audit says that there may be more when it has told enough") {
  TestType w;
  for (int i = 0; i < 1'200; ++i)
    w.command({"HSET", "history", cat("ghost", i), "x"});
  const auto found = told(w);
  REQUIRE(found.size() == 1'001);
  CHECK(std::count_if(found.begin(), found.end(),
                      [](const auto& f) { return f.starts_with("there is a history of"); }) == 1'000);
  CHECK(std::count(found.begin(), found.end(), "there may be more; nothing else was looked at") == 1);
}
