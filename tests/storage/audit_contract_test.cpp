// What the audit says: each of its rules names the harm that it is for, and nothing else; and a store that nobody
// harmed is not accused.
#include "storage/contract.hpp"
#include "storage/side_door.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// What stands in the store before the harm: a job "a", and what it needs.
void waiting(world& w) { put_all(w, {"a"}); }
void scheduled(world& w) { REQUIRE(put(w, {.id = "a", .delay = 1h}) == errc::none); }
void running(world& w) { started(w, "a"); }
void succeeded(world& w) { REQUIRE(settle(w, started(w, "a")) == errc::none); }
void of_unknown_type(world& w) {
  REQUIRE(put(w, {.id = "a", .type = "other"}) == errc::none);
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

struct harm {
  std::string rule;
  void (*before)(world&);
  std::vector<names> commands;
  names findings;  // in order; P is the prefix
};

// Above every number that was drawn, and still exact.
const std::string never_drawn = "9007199254740990";

std::string start_of_a(const std::string& fence, const std::string& queue = "7:default",
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
      {"a past of nobody",
       waiting,
       {{"HSET", "past", "ghost", "x"}},
       {"there is a past of job ghost, which does not exist"}},
      {"a past that cannot be read", waiting, {{"HSET", "past", "a", "x"}}, {"job a has a past that cannot be read"}},
      {"a past with more starts than are kept",
       waiting,
       {{"HSET", "past", "a", "1 0 0 0 1000000000 0:0:0:"}},
       {"job a has a past that cannot be read"}},
      {"a past without the starts that it counts",
       waiting,
       {{"HSET", "past", "a", "1 0 0 0 2 0:0:0:1:x"}},
       {"job a has a past that cannot be read"}},
      {"a past whose fence was never drawn",
       waiting,
       {{"HSET", "past", "a", "1 0 " + never_drawn + " 0 0 0:0:0:"}},
       {"job a has a past with a fence that was never drawn"}},
      {"a past that its start does not know of",
       running,
       {{"HSET", "past", "a", "0 0 0 0 0 0:0:0:"}},
       {"job a has a past that its start does not know of"}},
      {"a suspect in the main line",
       waiting,
       {{"HSET", "past", "a", "2 2 0 0 0 0:0:0:"}},
       {"job a is a suspect but is ready"}},
      {"a suspect in the front line",
       waiting,
       {{"HSET", "past", "a", "2 2 0 0 0 0:0:0:"}, {"ZREM", "ready:default", "a"}, {"ZADD", "front:default", "1", "a"}},
       {"job a is a suspect but is front"}},
      {"no suspect in the line of suspects",
       lost_twice,
       {{"HSET", "past", "a", "2 1 0 0 0 0:0:0:"}},
       {"job a is in the line of suspects and was not lost so often"}},
      {"a start of nobody",
       waiting,
       {{"HSET", "runs", "ghost", "x"}},
       {"there is a start of job ghost, which does not exist"}},
      {"a start without a lease",
       waiting,
       {{"HSET", "runs", "a", start_of_a("1")}},
       {"job a has a start but is ready"}},
      {"a lease without a start", running, {{"HDEL", "runs", "a"}}, {"job a is processing without a start"}},
      {"a start that cannot be read", running, {{"HSET", "runs", "a", "x"}}, {"job a has a start that cannot be read"}},
      {"a start that took what cannot be read",
       running,
       {{"HSET", "runs", "a", start_of_a("1", "7:default", "1:x")}},
       {"job a has a start that cannot be read"}},
      {"a start whose fence was never drawn",
       running,
       {{"HSET", "runs", "a", start_of_a(never_drawn)}},
       {"job a has a fence that was never drawn"}},
      {"a start for another queue",
       running,
       {{"HSET", "runs", "a", start_of_a("1", "5:other")}},
       {"job a runs for queue other in the line of default"}},
      {"a start that took what it does not hold",
       running,
       {{"HSET", "runs", "a", start_of_a("1", "7:default", "9:7:mutex:m")}},
       {"job a took mutex:m but does not hold it"}},
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
      {"an admission that its start does not know of",
       running,
       {{"HSET", "admission", "a", "0 0 0 0 0 0:"}},
       {"job a has an admission that its start does not know of"}},
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
       {"the line of mutex:x opens and nobody waits in it"}},
      {"a line that opens at no instant",
       parked_behind,
       {{"ZADD", "next_checks", "-1", "mutex:m"}},
       {"the line of mutex:m opens at no instant"}},
      {"a permit of nobody",
       with_permit,
       {{"HSET", "holders:mutex:m", "ghost", "held 1 1"}},
       {"mutex:m is held by 2, which is more than one", "mutex:m is held by job ghost, which does not exist"}},
      {"a permit of a start that is over",
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
       {"mutex:x is counted as taken by 1 starts, and 0 took it"}},
      {"a count of claims that is too high",
       with_claimed_permit,
       {{"HSET", "claim_permits", "mutex:m", "2"}},
       {"mutex:m is counted as taken by 2 starts, and 1 took it", "mutex:m is held by 2, which is more than one"}},
      {"a count of claims that is no number",
       with_claimed_permit,
       {{"HSET", "claim_permits", "mutex:m", "x"}},
       {"mutex:m is counted as taken by x starts, and 1 took it"}},
      {"a count of no claims",
       waiting,
       {{"HSET", "claim_permits", "mutex:m", "0"}},
       {"mutex:m is counted as taken, and no start took it"}},
      {"a claim that nobody counted",
       with_claimed_permit,
       {{"HDEL", "claim_permits", "mutex:m"}, {"ZREM", "busy", "mutex:m"}},
       {"job a took mutex:m but does not hold it"}},
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
      {"a cell that cannot be read",
       waiting,
       {{"HSET", "limiters", "fixed_window:w", "1 3:x"}},
       {"cell fixed_window:w cannot be read"}},
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
       {{"HSET", "schedules", "s", "1 1 0:"}},
       {"schedule s cannot be read"}},
      {"a schedule with more runs than it says",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:1:x1 "}},
       {"schedule s cannot be read"}},
      {"a schedule whose version was never drawn",
       waiting,
       {{"HSET", "schedules", "s", never_drawn + " 0 0:"}},
       {"schedule s has a version that was never drawn"}},
      {"a firing without a schedule",
       waiting,
       {{"ZADD", "firing", "1", "s"}},
       {"schedule s is in firing but is not there"}},
      {"a firing at no instant",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:"}, {"ZADD", "firing", "inf", "s"}},
       {"schedule s is due at no instant"}},
      {"a place without a schedule",
       waiting,
       {{"HSET", "places", "s", "0 60000000 1"}},
       {"schedule s is in places but is not there"}},
      {"a place of a schedule that cannot be read",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:"}, {"HSET", "places", "s", "x"}},
       {"schedule s has a place that cannot be read"}},
      {"a place of a schedule that was never drawn",
       waiting,
       {{"HSET", "schedules", "s", "1 0 0:"}, {"HSET", "places", "s", "0 60000000 " + never_drawn}},
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
      {"an act that cannot be read",
       waiting,
       {{"ZADD", "acts", "1", "1 1 1 1 4:anna9:dashboard5:pause4:idl"}},
       {"act 1 cannot be read"}},
      {"an act of no count",
       waiting,
       {{"ZADD", "acts", "1", "1 1 1 99999999999999999999 4:anna9:dashboard5:pause"}},
       {"act 1 cannot be read"}},
      {"an act in another place",
       waiting,
       {{"ZADD", "acts", "2", "1 1 1 1 4:anna9:dashboard5:pause4:idle"}},
       {"act 2 is not in its place"}},
      {"a key of nobody", waiting, {{"SET", "orphan", "x"}}, {"key P:orphan belongs to nobody"}},
      {"a number that is none",
       waiting,
       {{"SET", "number", "x"}},
       {"P:number is behind all that can be drawn, or no number"}},
      {"a number beyond what is exact",
       waiting,
       {{"SET", "number", "4503599627370496"}},
       {"P:number is behind all that can be drawn, or no number"}},
      {"numbers that went back",
       beside_lock,
       {{"SET", "number", "1"}},
       {"job a has a place that was never drawn", "lock r has a fence that was never drawn"}},
  };
}

template <class World>
names told(World& w) {
  const auto found = w.store().audit();
  REQUIRE(found.ok());
  names all;
  for (auto finding : *found) {
    const auto prefix = w.key("");
    for (auto at = finding.find(prefix); at != std::string::npos; at = finding.find(prefix))
      finding.replace(at, prefix.size(), "P:");
    all.push_back(std::move(finding));
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

#define ON_HARMED_STORES(name) TEMPLATE_TEST_CASE(name, "[contract]", harmed_file_world, harmed_redis_world)

ON_HARMED_STORES("The audit names each harm, and nothing else") {
  for (const auto& h : all_harms()) {
    INFO(h.rule);
    TestType w;
    h.before(w);
    REQUIRE(told(w) == names{});
    for (const auto& c : h.commands)
      w.command(c);
    CHECK(told(w) == h.findings);
  }
}

ON_HARMED_STORES("The audit tells of a key of another type, and goes on with the others") {
  TestType w;
  running(w);
  w.command({"SET", "waits:mutex:m", "a text"});
  w.command({"HSET", "past", "ghost", "x"});
  const auto found = told(w);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "there is a past of job ghost, which does not exist");
  CHECK(found[1].starts_with("waits P:waits:mutex:m cannot be looked at: "));
  CHECK(found[1].find("WRONGTYPE") != std::string::npos);
}

ON_HARMED_STORES("The audit says that there may be more when it has told enough") {
  TestType w;
  for (int i = 0; i < 1'200; ++i)
    w.command({"HSET", "past", cat("ghost", i), "x"});
  const auto found = told(w);
  REQUIRE(found.size() == 1'001);
  CHECK(std::count_if(found.begin(), found.end(), [](const auto& f) { return f.starts_with("there is a past of"); }) ==
        1'000);
  CHECK(std::count(found.begin(), found.end(), "there may be more; nothing else was looked at") == 1);
}
